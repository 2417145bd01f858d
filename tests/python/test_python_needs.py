"""Trees that say the same of what they need have the same environment."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from hati.core import InputError
from hati.python import declared, validate_installable
from hati.python.requirements import mentioned

LOCK = """
version = 1
[[package]]
name = "a"
version = "{own}"
source = {{ editable = "." }}
[[package]]
name = "dep"
version = "{dep}"
source = {{ registry = "https://example.org/simple" }}
"""


POETRY_LOCK = """
[[package]]
name = "dep"
version = "{dep}"
[metadata]
content-hash = "{own}"
"""
POETRY = """
[tool.poetry]
name = "a"
version = "{own}"
[tool.poetry.dependencies]
python = "^3.11"
dep = "{dep}"
[tool.poetry.group.dev.dependencies]
more = "{more}"
"""
DYNAMIC = """
[project]
name = "a"
version = "1"
dynamic = ["dependencies", "readme"]
[tool.setuptools.dynamic]
dependencies = { file = ["needed/base.in"] }
readme = { file = "readme.txt" }
"""
HATCH = """
[project]
name = "a"
dynamic = ["dependencies"]
[tool.hatch.metadata.hooks.requirements_txt]
files = ["needed/base.in"]
"""
GROUPS = "[dependency-groups]\ntest = ['dep=={dep}']\n"
ALONG = "[project]\nname = 'a'\ndependencies = ['lib']\n[tool.uv.sources]\nlib = { path = '../lib', editable = true }\n"


def poetry(own: int = 1, dep: int = 1, more: int = 1) -> str:
    return POETRY.format(own=own, dep=dep, more=more)


def project(version: str, needed: str = "") -> str:
    return f"[project]\nname = 'a'\nversion = '{version}'\ndependencies = [{needed}]\n"


def tree(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        file = folder / name.replace("___", "/").replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "more")


def repository(folder: Path) -> Path:
    git(tree(folder), "init", "--quiet", "--initial-branch=main")
    commit(folder)
    return folder


@pytest.mark.parametrize("files", [{}, {"pyproject__toml": "[tool.ruff]\n"}, {"setup__cfg": "[flake8]\n"}])
def test_a_tree_that_needs_nothing_says_nothing(files: dict[str, str], tmp_path: Path) -> None:
    assert declared(tree(tmp_path, **files)) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"pyproject__toml": project("1")},
            {"pyproject__toml": project("2")},
        ),
        ({"uv__lock": LOCK.format(own=1, dep=1)}, {"uv__lock": LOCK.format(own=2, dep=1)}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==1", "readme__txt": "more"}),
        ({"requirements__txt": "-e ."}, {"requirements__txt": "-e .", "a__py": "more"}),
        ({"pyproject__toml": poetry()}, {"pyproject__toml": poetry(own=2)}),
        ({"poetry__lock": POETRY_LOCK.format(own=1, dep=1)}, {"poetry__lock": POETRY_LOCK.format(own=2, dep=1)}),
        ({"pyproject__toml": DYNAMIC}, {"pyproject__toml": DYNAMIC, "readme__txt": "more"}),
        ({"setup__py": "open('README.txt')"}, {"setup__py": "open('README.txt')", "README__txt": "more"}),
    ],
)
def test_a_release_alone_needs_no_other_environment(
    first: dict[str, str], second: dict[str, str], tmp_path: Path
) -> None:
    found = declared(tree(tmp_path / "first", **first))
    assert found is not None
    assert found == declared(tree(tmp_path / "second", **second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"pyproject__toml": project("1")},
            {"pyproject__toml": project("1", "'dep'")},
        ),
        ({"uv__lock": LOCK.format(own=1, dep=1)}, {"uv__lock": LOCK.format(own=1, dep=2)}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==2"}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==1", "setup__py": ""}),
        ({"uv__lock": "["}, {"uv__lock": "[["}),
        ({"pyproject__toml": poetry()}, {"pyproject__toml": poetry(dep=2)}),
        ({"pyproject__toml": poetry()}, {"pyproject__toml": poetry(more=2)}),
        ({"poetry__lock": POETRY_LOCK.format(own=1, dep=1)}, {"poetry__lock": POETRY_LOCK.format(own=1, dep=2)}),
        ({"pyproject__toml": GROUPS.format(dep=1)}, {"pyproject__toml": GROUPS.format(dep=2)}),
        *(({name: "first"}, {name: "second"}) for name in ("Pipfile", "Pipfile__lock", "environment__yml")),
        ({"setup__cfg": "[options]\ninstall_requires = a"}, {"setup__cfg": "[options]\ninstall_requires = b"}),
    ],
)
def test_what_is_needed_tells_trees_apart(first: dict[str, str], second: dict[str, str], tmp_path: Path) -> None:
    assert declared(tree(tmp_path / "first", **first)) != declared(tree(tmp_path / "second", **second))


@pytest.mark.parametrize(
    "files",
    [
        {"requirements__txt": "dep\n-r needed/base.in  # and these\n"},
        {"requirements__txt": "--requirement=needed/base.in"},
        {"requirements__txt": "-cneeded/base.in"},
        {"requirements__txt": "dep\n--constraint \\\n  needed/base.in\n"},
        {"requirements__txt": "-r first.txt", "first__txt": "-r first.txt\n-r needed/../needed/second.txt"},
        {"requirements___tests__txt": "-r ../needed/base.in"},
        {"pyproject__toml": DYNAMIC},
        {"pyproject__toml": HATCH},
        {"setup__py": "setup(install_requires=open('needed/base.in'))"},
        {"setup__py": "", "setup__cfg": "install_requires = file: needed/base.in"},
    ],
)
def test_what_files_name_counts_by_its_content(files: dict[str, str], tmp_path: Path) -> None:
    files = {**files, "needed___second__txt": "-r base.in"}
    before = declared(tree(tmp_path / "a", **files, needed___base__in="dep==1"))
    assert before == declared(tree(tmp_path / "b", **files, needed___base__in="dep==1", needed___else__in=""))
    assert before != declared(tree(tmp_path / "c", **files, needed___base__in="dep==2"))
    assert before != declared(tree(tmp_path / "d", **files))


@pytest.mark.parametrize(
    "files",
    [
        {"requirements__txt": "-e ../lib[fast]"},
        {"requirements__txt": "--find-links ../lib"},
        {"requirements__txt": "lib @ file:../lib"},
        {"requirements__txt": "../lib"},
        {"requirements__txt": "'../lib'"},
        {"requirements__txt": '"../lib[fast]" ; python_version > "3"'},
        {"requirements__txt": "-e '../lib' # ours"},
        {"requirements__txt": "lib[a, b]@file:../lib ; python_version > '3'"},
        {"requirements__txt": "../lib[a, b]"},
        {"requirements__txt": "-e ../lib[a, b] ; python_version > '3'"},
        {"requirements__txt": "--no-index --find-links=../lib"},
        {"requirements__txt": "--no-index --find ../lib --pre"},
        {"requirements__txt": "-f /nowhere -f ../lib"},
        {"requirements__txt": "../lib --config-settings=a=b"},
        {"requirements__txt": "-r more/base.txt", "more___base__txt": "../lib"},
        {"requirements__txt": "-r more/base.txt", "more___base__txt": "-f ../../lib"},
        {"requirements__txt": "--extra-index-url '../lib' --pre"},
        {"pyproject__toml": ALONG},
        {"pyproject__toml": "[project]\nname = 'a'\n[tool.uv]\nfind-links = ['https://example.org', '../lib']\n"},
        {"pyproject__toml": "[project]\nname = 'a'\n[tool.uv.pip]\nfind-links = ['../lib']\n"},
        {"pyproject__toml": "[project]\nname = 'a'\n[[tool.uv.index]]\nurl = '../lib'\nformat = 'flat'\n"},
        {"uv__lock": "[[package]]\nname = 'lib'\nversion = '1'\nsource = { editable = '../lib' }\n"},
        {"poetry__lock": "[[package]]\nname = 'lib'\nversion = '1'\nsource = { type = 'directory', url = '../lib' }\n"},
    ],
)
def test_what_is_installed_from_beside_the_tree_counts_by_its_sources(files: dict[str, str], tmp_path: Path) -> None:
    found = []
    for name, source in (("a", "1"), ("b", "1"), ("c", "2")):
        lib = {"lib___lib__py": source, f"lib___build___{name}__py": "", f"lib___{name}__log": ""}
        tree(tmp_path / name, **lib)
        found.append(declared(tree(tmp_path / name / "own", **files)))
    assert found[0] == found[1] != found[2]


URLS = [
    "[project]\nname = 'a'\ndependencies = ['dep', 'lib[fast] @ file://{} ; python_version > \"3\"']\n",
    "[project.optional-dependencies]\nfast = ['lib @ file://{}']\n",
    "[dependency-groups]\ntest = ['lib @ file://{}', {{ include-group = 'fast' }}]\nfast = []\n",
    "[build-system]\nrequires = ['lib@file://{}']\n",
    "[project]\n[tool.uv.sources]\nlib = {{ url = 'file://{}' }}\n",
    "[project]\n[tool.uv.sources]\nlib = [{{ url = 'file://{}', marker = 'a' }}, {{ index = 'b' }}]\n",
    "[project]\n[tool.uv]\nconstraint-dependencies = ['lib @ file://{}']\n",
    "[project]\n[tool.uv]\nfind-links = ['file://{}']\n",
    "[tool.poetry.dependencies]\nlib = {{ url = 'file://{}' }}\n",
    "[tool.poetry.dev-dependencies]\nlib = {{ path = '{}' }}\n",
    "[project]\n[tool.pdm.dev-dependencies]\ntest = ['-e file://{}#egg=lib']\n",
]


@pytest.mark.parametrize("text", URLS)
def test_what_a_project_file_names_by_urls_of_files_counts_by_its_content(text: str, tmp_path: Path) -> None:
    found = []
    for source in ("1", "1", "2"):
        lib = tree(tmp_path / "lib", lib__py=source)
        found.append(declared(tree(tmp_path / "own", pyproject__toml=text.format(lib))))
    assert found[0] == found[1] != found[2]


REPOSITORIES = [
    {"requirements__txt": "git+file://{}"},
    {"requirements__txt": "-e git+file://{}#egg=lib"},
    {"requirements__txt": "lib @ git+file://{}@main#subdirectory=a"},
    {"requirements__txt": "lib @ git+file://{}@refs/heads/main --config-settings=a=b"},
    {"pyproject__toml": "[project]\ndependencies = ['lib @ git+file://{}']\n"},
    {"pyproject__toml": "[project]\n[tool.uv.sources]\nlib = {{ git = 'file://{}' }}\n"},
    {"pyproject__toml": "[project]\n[tool.uv.sources]\nlib = {{ git = 'file://{}', branch = 'main' }}\n"},
    {"pyproject__toml": "[tool.poetry.dependencies]\nlib = {{ git = '../lib' }}\n"},
]


@pytest.mark.parametrize("files", REPOSITORIES)
def test_repositories_on_this_machine_count_by_the_commit_that_is_asked_for(
    files: dict[str, str], tmp_path: Path
) -> None:
    lib = repository(tmp_path / "lib")
    own = tree(tmp_path / "own", **{name: text.format(lib) for name, text in files.items()})
    before = declared(own)
    tree(lib, lib__py="not committed")
    git(lib, "branch", "other")
    git(lib, "update-ref", "refs/remotes/origin/HEAD", "HEAD")
    assert declared(own) == before
    commit(lib)
    assert declared(own) != before


PINNED = [
    {"requirements__txt": "lib @ git+file://{lib}@{commit}"},
    {"pyproject__toml": "[project]\n[tool.uv.sources]\nlib = {{ git = 'file://{lib}', rev = '{commit}' }}\n"},
    {"uv__lock": "[[package]]\nname = 'lib'\nsource = {{ git = 'file://{lib}?rev=main#{commit}' }}\n"},
    {
        "poetry__lock": "[[package]]\nname = 'lib'\n[package.source]\ntype = 'git'\nurl = 'file://{lib}'\n"
        "reference = 'main'\nresolved_reference = '{commit}'\n"
    },
    {"pylock__toml": "[[packages]]\nname = 'lib'\nvcs = {{ type = 'git', path = '../lib', commit-id = '{commit}' }}\n"},
]


@pytest.mark.parametrize("files", PINNED)
def test_a_commit_is_always_the_same(files: dict[str, str], tmp_path: Path) -> None:
    lib = repository(tmp_path / "lib")
    told = git(lib, "rev-parse", "HEAD").strip()
    own = tree(tmp_path / "own", **{name: text.format(lib=lib, commit=told) for name, text in files.items()})
    before = declared(own)
    commit(lib)
    assert declared(own) == before


def test_words_of_a_command_name_repositories_too(tmp_path: Path) -> None:
    lib = repository(tmp_path / "lib")
    [before] = mentioned([f"lib @ git+file://{lib}@main"])
    commit(lib)
    assert mentioned([f"lib @ git+file://{lib}@main"]) != [before]


def test_a_repository_that_git_cannot_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib, own = tmp_path / "lib", tmp_path / "own"
    tree(own, requirements__txt=f"git+file://{lib}")
    declared(own)
    tree(lib, lib__py="")
    with pytest.raises(InputError, match=rf"^git cannot read {lib}: .*; see what `git ls-remote {lib}` says"):
        declared(own)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=f"^git cannot read {lib}: it is not installed; install git"):
        declared(own)
    tree(tmp_path / "bin", git="").joinpath("git").chmod(0o644)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InputError, match=f"^git cannot be started to read {lib}: Permission denied; see whether"):
        declared(own)


@pytest.mark.parametrize("source", ["fast.c", "k.pyx", "data/table.json", "README"])
def test_sources_of_any_kind_count(source: str, tmp_path: Path) -> None:
    found = []
    for text in ("1", "1", "2"):
        lib = tree(tmp_path / "lib", lib__py="")
        (lib / source).parent.mkdir(exist_ok=True)
        (lib / source).write_text(text)
        found.append(declared(tree(tmp_path / "own", requirements__txt="-e ../lib")))
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    "made",
    [
        *("fast.so", "fast.o", "k.pyd", "k.pyc", "a/__pycache__/k.py", "build/k.c", "dist/lib-1.whl", ".env", ".git/x"),
        *("lib.egg-info/PKG-INFO", "src/lib.egg-info/PKG-INFO", "of/pyvenv.cfg", "of/CACHEDIR.TAG"),
    ],
)
def test_what_was_built_beside_sources_does_not_count(made: str, tmp_path: Path) -> None:
    lib, own = tree(tmp_path / "lib", lib__py=""), tree(tmp_path / "own", requirements__txt="-e ../lib")
    before = declared(own)
    (lib / made).parent.mkdir(parents=True, exist_ok=True)
    (lib / made).write_text("made")
    assert declared(own) == before


WAYS = [
    *("{}", "lib @ file://{}", "lib@file:{}", "{}[extra]", "lib[a,b] @ file://localhost{}[c]", "file://localhost{}"),
    *("--find-links=file://{}", "--find-links={}", "-f{}", "-f file://{}", "-e{}", "-e {}[extra]", "--editable={}"),
    *("--index-url=file://{}", "file://{}#egg=lib", "'{}'"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["lib", "lib@2"])
def test_what_words_of_a_command_name_counts_by_its_content(way: str, name: str, tmp_path: Path) -> None:
    lib = tree(tmp_path / name, a__py="1")
    [before] = mentioned([way.format(lib)])
    assert [before] == mentioned(["--quiet", str(lib), "dep==1", "other @ https://example.org/a/b.whl"])
    tree(lib, a__py="2")
    assert mentioned([way.format(lib)]) != [before]


def test_paths_with_spaces_count_too(tmp_path: Path) -> None:
    lib = tree(tmp_path / "my lib", a__py="1")
    whole = mentioned([str(lib)])
    assert mentioned(["--cache-dir", str(lib), f"--log={lib}"]) == []
    assert len(whole) == 1
    assert mentioned([f"file://{tmp_path}/my%20lib"]) == mentioned([f"--find-links={lib}"]) == whole


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("pyproject.toml", "project = 3", "project is 3, where a table belongs"),
        ("pyproject.toml", "tool = 1", "tool is 1, where a table belongs"),
        ("pyproject.toml", "[tool]\npoetry = 1", "tool.poetry is 1, where a table belongs"),
        ("pyproject.toml", "[tool.poetry.group]\ndev = 1", "tool.poetry.group holds 1, where a table belongs"),
        ("pyproject.toml", "[project]\ndependencies = 'x'", "project.dependencies is 'x', where an array belongs"),
        ("pyproject.toml", "[project]\ndependencies = [1]", "project.dependencies holds 1, where a text belongs"),
        ("pyproject.toml", "[dependency-groups]\na = 'x'", "dependency-groups holds 'x', where an array belongs"),
        (
            "pyproject.toml",
            "[project]\nrequires-python = 3.11",
            "project.requires-python is 3.11, where a text belongs",
        ),
        ("uv.lock", "package = 3", "package is 3, where an array belongs"),
        ("poetry.lock", "package = [3]", "package holds 3, where a table belongs"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(name: str, text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as told:
        declared(tmp_path)
    assert str(told.value).startswith(f'{tmp_path / name}: {wrong}; correct it; else set past = "today"')
    with pytest.raises(InputError) as told:
        declared(tmp_path, "v1.2")
    assert str(told.value).startswith(f"{name} of v1.2: {wrong}")


@pytest.mark.parametrize("text", ["[[package]]\nsource = 3\n", "[[package]]\nname = 3\nsource = {a = 1979-05-27}"])
def test_odd_locks_are_no_trouble(text: str, tmp_path: Path) -> None:
    assert declared(tree(tmp_path, uv__lock=text)) is not None


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyproject__toml": poetry(), "poetry__lock": ""}, "[tool.poetry] of pyproject.toml, poetry.lock"),
        ({"pyproject__toml": f"{poetry()}\n[project]\nname = 'a'"}, "[tool.poetry] of pyproject.toml"),
        (
            {"pyproject__toml": "[tool.poetry]\npackage-mode = false\n[build-system]\nrequires = ['poetry-core']"},
            "[tool.poetry] of pyproject.toml",
        ),
        ({"pyproject__toml": GROUPS.format(dep=1)}, "[dependency-groups] of pyproject.toml"),
        ({"requirements-a__txt": "", "requirements-b__txt": ""}, "requirements-a.txt, requirements-b.txt"),
        ({"requirements___base__txt": ""}, "requirements/"),
        ({"Pipfile": "", "environment__yml": ""}, "Pipfile, environment.yml"),
        ({"setup__cfg": "install_requires = a"}, "setup.cfg"),
    ],
)
def test_what_nothing_here_installs_is_refused(files: dict[str, str], said: str, tmp_path: Path) -> None:
    assert declared(tree(tmp_path, **files)) is not None
    with pytest.raises(InputError) as told:
        validate_installable(tmp_path, "v1.2")
    why = f"v1.2 has no environment of its own: neither uv nor pip can install the requirements from {said} alone"
    assert str(told.value).startswith(f'{why}; set past = "today" below [python.environment] of hati.toml')
    validate_installable(tree(tmp_path, requirements__txt=""), "v1.2")


@pytest.mark.parametrize("files", [{}, {"setup__py": ""}, {"pyproject__toml": "["}, {"pyproject__toml": project("1")}])
def test_what_is_installed_or_fails_at_it_is_not_refused(files: dict[str, str], tmp_path: Path) -> None:
    validate_installable(tree(tmp_path, **files), "v1.2")


def close(monkeypatch: pytest.MonkeyPatch, closed: Path) -> None:
    """Refuse to list a folder, as it is to all users but root where its mode says so."""
    listed = os.scandir

    def refusing(path: str) -> object:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib = tree(tmp_path / "lib", a___b__py="1")
    own = tree(tmp_path / "own", requirements__txt="-e ../lib")
    close(monkeypatch, lib / "a")
    said = f"^{lib / 'a'}: it cannot be read: Permission denied; make it readable"
    with pytest.raises(InputError, match=said):
        declared(own)
    with pytest.raises(InputError, match=said):
        declared(own, "v1.2")
    with pytest.raises(InputError, match=f"^{lib / 'a'} cannot be read: Permission denied; make it readable"):
        mentioned([f"--find-links={lib}"])


def test_a_folder_of_the_tree_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tree(tmp_path / "own", requirements__txt="", requirements___more___a__txt="")
    close(monkeypatch, own / "requirements" / "more")
    with pytest.raises(InputError, match=f"^{own / 'requirements' / 'more'}: it cannot be read: Permission denied"):
        declared(own)
    with pytest.raises(InputError, match=r"^requirements/more of v1.2: it cannot be read: Permission denied"):
        declared(own, "v1.2")


def test_what_lies_in_a_folder_that_cannot_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib = tree(tmp_path / "lib", a__py="1")
    own = tree(tmp_path / "own", requirements__txt="-e ../lib")
    stat = os.stat

    def refusing(path: str, **options: bool) -> os.stat_result:
        if Path(path) == lib / "a.py":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refusing)
    with pytest.raises(InputError, match=f"^{lib / 'a.py'}: it cannot be read: Permission denied; make it readable"):
        declared(own)


def test_what_is_no_name_of_a_file_names_nothing(tmp_path: Path) -> None:
    lib = tree(tmp_path / "lib", a__py="")
    (lib / "itself").symlink_to("itself")
    (lib / "gone").symlink_to("nowhere")
    lines = f"-e ../lib\n./{'a' * 5000}\n./\0\ngit+file:../lib@a\0b\n"
    assert declared(tree(tmp_path / "own", requirements__txt=lines)) is not None


def test_what_cannot_be_read_is_told() -> None:
    with pytest.raises(InputError, match=r"/proc/self/mem cannot be read: .*; make it readable"):
        mentioned(["-r/proc/self/mem"])
