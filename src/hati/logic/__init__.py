"""Performance logic: requirements on performance as formulas (seed 004, sections 3 and 5).

``parse_formula`` reads one formula, ``parse_file`` a file of declarations and formulas; both give frozen trees that
print canonically. Nothing here measures or decides.
"""

from hati.logic.syntax import *  # noqa: F403
from hati.logic.syntax import __all__ as __all__
