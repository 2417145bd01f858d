"""``python -m hati``."""

import sys

from hati.cli import main

sys.exit(main())
