"""The command line: one verb a file, each a thin layer over what also works as a library.

``main`` is the program. It turns every error into a message of one to three lines and an exit status.
"""

from hati.cli.main import main

__all__ = ["main"]
