"""The recorder as one file, which any interpreter from Python 3.9 on runs without Hati."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("injected")

_START = '''"""Hati's recorder: measures a Python function in a separate process."""
import os, sys
SELF = os.path.abspath(__file__)
MAIN = __name__ == "__main__"  # else it is a child process of the subject's, which multiprocessing has started
if sys.version_info < (3, 9):
    sys.exit("hati: measuring needs Python 3.9 or later, and this is %d.%d" % sys.version_info[:2])
if MAIN and "HATI_HASH_SEED" not in os.environ:  # nobody knows the hash seed of this process: take one that is known
    words = [word for word in sys.argv[1:] if word.startswith("hash_seed=")]
    seed = words[0][10:] if words else str(int.from_bytes(os.urandom(4), "big"))
    frozen = [word[7:] for word in sys.argv[1:] if word.startswith("frozen=")]
    options = ["-X", "frozen_modules=" + frozen[0]] if frozen and frozen[0] else []
    os.environ.update(PYTHONHASHSEED=seed, HATI_HASH_SEED=seed)
    os.execv(sys.executable, [sys.executable, *options, SELF, *sys.argv[1:]])
if MAIN:
    del os.environ["HATI_HASH_SEED"]
if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(SELF):
    del sys.path[0]

from importlib.machinery import ModuleSpec

PACKAGE = "_hati_recorder"


class Carried:
    """Finds and loads the recorder's modules, which are in this file."""

    def find_spec(self, name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        return ModuleSpec(name, self, origin=SELF, is_package=name == PACKAGE)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        leaf = module.__name__.rpartition(".")[2] if "." in module.__name__ else "__init__"
        exec(compile(SOURCES[leaf], "<hati recorder: " + leaf + ">", "exec"), module.__dict__)


SOURCES = {
'''

_END = """}
sys.meta_path.insert(0, Carried())
from _hati_recorder import recorder

if MAIN:
    arguments = sys.argv[1:]
    del sys.argv[1:]  # a module that reads these as it is imported must not take them for its own
    sys.exit(recorder.main(arguments))
recorder.offer()
"""


@cache
def recorder() -> str:
    """The source of the recorder: standard library alone, Python 3.9 and later."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py"))}
    return _START + "".join(f"{name!r}: {source!r},\n" for name, source in sources.items()) + _END
