"""examples/sorting, for real: its methods do what they say, and its formulas have the verdicts that its page gives."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from examples.sorting import ciphers, sorts
from examples.sorting.before import sorts as earlier
from examples.sorting.containers import ArrayList, LinkedList, filled

pytestmark = pytest.mark.acceptance

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sorting"
HATI = str(Path(sys.executable).with_name("hati"))
PAGE = (EXAMPLE / "README.md").read_text()
VERDICTS = dict(re.findall(r"^\| `([^`]+)` \|[^|]*\| (HOLDS|VIOLATED|INCONCLUSIVE) \|", PAGE, re.MULTILINE))
COMMANDS = re.findall(r"^hati (.+)$", PAGE, re.MULTILINE)
STATUS = {"HOLDS": 0, "VIOLATED": 1, "INCONCLUSIVE": 3}
EVERY = (sorts.built_in, sorts.copied, sorts.heap, sorts.insertion, sorts.bubble, sorts.merge, sorts.my_method)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "sorting"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".hati", "__pycache__"))
    return folder


@pytest.mark.parametrize("sort", [*EVERY, earlier.my_method], ids=lambda sort: f"{sort.__module__}.{sort.__name__}")
def test_sorts_sort(sort: type[object]) -> None:
    rng = random.Random(1)
    for n in (0, 1, 2, 50):
        values = [float(rng.randrange(20)) for _ in range(n)]
        assert sort(list(values)) == sorted(values)


def test_ciphers_encipher() -> None:
    # https://en.wikipedia.org/wiki/RC4#Test_vectors
    assert ciphers.rc4(list(b"Plaintext"), list(b"Key")).hex() == "bbf316e8d940af0ad3"
    assert ciphers.vernam([1, 2, 255], [3, 0, 15]) == bytes([2, 2, 240])


def test_containers_contain_what_was_added() -> None:
    for container in (filled(ArrayList(), range(3)), filled(LinkedList(), range(3))):
        assert [container.contains(item) for item in (-1, 0, 2, 3)] == [False, True, True, False]


def test_every_file_of_formulas_is_on_the_page_with_a_verdict_and_a_command() -> None:
    files = {file.name for file in EXAMPLE.glob("*.spl")} | {"experiments.py"}
    assert set(VERDICTS) == files
    assert {shlex.split(command)[1] for command in COMMANDS} == files


@pytest.mark.alone
@pytest.mark.parametrize("command", COMMANDS)
def test_formulas_have_the_verdicts_of_the_page(command: str, project: Path) -> None:
    words = shlex.split(command)
    done = subprocess.run([HATI, *words, "--format", "json"], cwd=project, capture_output=True, text=True, check=False)
    told = {each["verdict"] for each in json.loads(done.stdout)["formulas"]}
    assert told == {VERDICTS[words[1]]}
    assert done.returncode == STATUS[VERDICTS[words[1]]]
