"""Which files are the subject."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path, PurePath

import pytest

from hati.core import InputError
from hati.subject import Sources, list_sources, remember_output

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git: apt-get install git")


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder without version control."""
    (tmp_path / "src").mkdir()
    for name in ("src/main.c", "src/main.o", "bench.py", "notes.txt", "hati.toml"):
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.fixture
def repo(plain: Path) -> Path:
    """The same in git, which tracks the program only and ignores objects."""
    (plain / ".gitignore").write_text("*.o\n")
    git(plain, "init", "-q")
    git(plain, "add", ".gitignore", "src/main.c")
    git(plain, "commit", "-qm", "first")
    return plain


def names(root: Path, *patterns: str, named: tuple[str, ...] = (), own: tuple[Path, ...] = ()) -> str:
    sources = Sources(patterns, frozenset(named), frozenset(file.resolve() for file in own))
    return " ".join(map(str, list_sources(root, sources=sources).files))


def test_without_version_control_all_files_are_sources(plain: Path) -> None:
    for hidden in (".hati/store.sqlite", ".cache/x", "src/__pycache__/a.pyc"):
        (plain / hidden).parent.mkdir(exist_ok=True)
        (plain / hidden).touch()
    assert names(plain) == "bench.py notes.txt src/main.c src/main.o"
    assert list_sources(plain).open


def test_in_git_what_it_tracks(repo: Path) -> None:
    assert names(repo) == ".gitignore src/main.c"
    assert not list_sources(repo).open
    assert list_sources(repo).untracked == [Path("bench.py"), Path("notes.txt")]
    (repo / "src/main.c").unlink()
    assert names(repo) == ".gitignore"


def test_what_hati_and_python_keep_is_not_reported_as_untracked(repo: Path) -> None:
    for path in (".hati/store.sqlite", "__pycache__/bench.pyc"):
        (repo / path).parent.mkdir()
        (repo / path).touch()
    assert list_sources(repo).untracked == [Path("bench.py"), Path("notes.txt")]


def test_in_git_untracked_files_that_the_project_names(repo: Path) -> None:
    assert names(repo, named=("python3", "bench.py", "src/main.o")) == ".gitignore bench.py src/main.c"
    (repo / "src" / "run.sh").touch()
    assert list_sources(repo, PurePath("src"), Sources(named=frozenset({"run.sh"}))).files[-1] == Path("src/run.sh")


@pytest.mark.parametrize(
    "text",
    [
        'command = ["./bench.py"]',
        'command = ["python3", "bench.py"]',
        'command = ["sh", "-c", "exec python3 ./bench.py --fast"]',
        'command = ["run", "--script=bench.py,other"]',
        'command = ["run", "@bench.py"]',
    ],
)
def test_a_file_is_named_however_it_is_written(repo: Path, text: str) -> None:
    listed = list_sources(repo, sources=Sources.of((), text))
    assert listed.files == [Path(".gitignore"), Path("bench.py"), Path("src/main.c")]
    assert listed.untracked == [Path("notes.txt")]


def test_a_folder_is_named_with_all_that_is_in_it(repo: Path) -> None:
    (repo / "pkg" / "inner").mkdir(parents=True)
    (repo / "pkg" / "inner" / "a.py").touch()
    named = Sources.of((), 'command = ["python3", "-m", "pkg"]')
    assert Path("pkg/inner/a.py") in list_sources(repo, sources=named).files


def test_a_named_file_counts_though_hati_wrote_it_once(repo: Path) -> None:
    (repo / ".hati").mkdir()
    remember_output(repo / "bench.py")
    assert Path("bench.py") in list_sources(repo, sources=Sources.of((), "bench.py")).files
    assert Path("bench.py") not in list_sources(repo).untracked


def test_patterns_add_to_what_git_tracks_and_take_from_it(repo: Path) -> None:
    assert names(repo, "src/*.o") == ".gitignore src/main.c src/main.o"
    assert names(repo, "src") == ".gitignore src/main.c src/main.o"
    assert names(repo, "!src/**") == ".gitignore"
    assert names(repo, "**/*.o", "!.gitignore") == "src/main.c src/main.o"


def test_elsewhere_patterns_say_all(plain: Path) -> None:
    assert names(plain, "src", "bench.py") == "bench.py src/main.c src/main.o"
    assert names(plain, "!*.txt") == "bench.py src/main.c src/main.o"
    assert names(plain, "**", "!**/*.o") == "bench.py notes.txt src/main.c"
    assert not list_sources(plain, sources=Sources(("**",))).open


def test_what_is_no_pattern_is_refused(plain: Path) -> None:
    with pytest.raises(InputError, match=r"sources: 'src/\*\*\.c' is not a pattern of files"):
        names(plain, "src/**.c")


def test_patterns_count_from_the_project(repo: Path) -> None:
    (repo / "src" / ".hati").mkdir()
    listed = list_sources(repo, PurePath("src"), Sources(("*.o", "!main.c")))
    assert listed.files == [Path(".gitignore"), Path("src/main.o")]


def test_a_store_is_none_of_the_subject_wherever_it_lies(repo: Path) -> None:
    store = repo / "src" / "store.sqlite"
    store.touch()
    git(repo, "add", "src/store.sqlite")
    assert names(repo) == ".gitignore src/main.c src/store.sqlite"
    assert names(repo, own=(store,)) == ".gitignore src/main.c"
    assert list_sources(repo / "src", sources=Sources(own=frozenset({store.resolve()}))).files == [Path("main.c")]


def test_the_project_file_is_that_of_the_project_alone(repo: Path) -> None:
    (repo / "src" / "hati.toml").touch()
    git(repo, "add", "--all")
    assert Path("hati.toml") not in list_sources(repo).files
    found = list_sources(repo, PurePath("src")).files
    assert Path("hati.toml") in found
    assert Path("src/hati.toml") not in found


def test_a_folder_of_which_git_tracks_nothing_is_as_without_git(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.o\n/inner/\n")
    (repo / "inner").mkdir()
    (repo / "inner/b.c").touch()
    assert list_sources(repo / "inner").files == [Path("b.c")]
    assert list_sources(repo / "inner").open
