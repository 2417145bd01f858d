from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest
from measuring import BASE, QUICK, Measure

from hati.core import InputError, Outcome
from hati.python import Environment, Interpreter, Network, python_benchmark
from hati.python.installing import InstallationError, Wishes, requirements

GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
TOLD = """
import sys
import dep

sys.stderr.write(f"{NAME} with dep {dep.VERSION}\\n")


def get(n):
    return n
"""
RELEASED = "import sys\nsys.stderr.write('release\\n')\ndef get(n): return n\n"
WORK = "import hati\n\n@hati.workload\ndef one(n): return n,\n"


def commit(folder: Path, tag: str) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", tag], ["tag", tag]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def wheel(folder: Path, name: str, version: str, source: str) -> None:
    """A wheel with one module."""
    folder.mkdir(exist_ok=True, parents=True)
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", source)
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A repository whose first commit needs version 1.0 of a package, and what is there now 2.0; it has no workload."""
    project = tmp_path / "project"
    wheels = project / "wheels"
    for version in ("1.0", "2.0"):
        wheel(wheels, "dep", version, f"VERSION = '{version}'\n")
    for name, version in (("old", "1.0"), ("new", "2.0")):
        listed = f"--no-index\n--find-links wheels\ndep=={version}\n"
        (project / "requirements.txt").write_text(listed)
        (project / "tool.py").write_text(TOLD.replace("{NAME}", name))
        commit(project, name)
    (project / "work.py").write_text(WORK)
    return project


@pytest.fixture
def no_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search path on which there is everything but uv."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(BASE)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


@pytest.mark.acceptance
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_each_revision_runs_in_an_environment_from_its_own_requirements(
    installer: str, versions: Path, measure: Measure, request: pytest.FixtureRequest
) -> None:
    if installer == "pip":
        request.getfixturevalue("no_uv")
    benchmark = python_benchmark(
        *("tool:get",),
        workload="work:one",
        parameters=(1,),
        root=versions,
        recording=QUICK,
        interpreter=Interpreter(environment=Environment()),
    )
    runs = measure(versions, benchmark, revisions=("old", "new", ".", "old"))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 4, [run.detail + run.output for run in runs]
    said = [run.output.strip().splitlines()[-1] for run in runs]
    assert said == ["old with dep 1.0", "new with dep 2.0", "new with dep 2.0", "old with dep 1.0"]
    assert len([*(versions / ".hati" / "builds").glob("*.built")]) == 3
    assert runs[3].seconds < runs[0].seconds


@pytest.mark.acceptance
def test_each_revision_has_the_packages_that_its_lock_names(versions: Path, measure: Measure) -> None:
    for name, version in (("old", "1.0"), ("new", "2.0")):
        source = f"[tool.uv.sources]\ndep = {{ path = 'wheels/dep-{version}-py3-none-any.whl' }}\n"
        about = "[project]\nname = 'tool'\nversion = '1'\nrequires-python = '>=3.11'\ndependencies = ['dep']\n"
        (versions / "pyproject.toml").write_text(about + source)
        (versions / "requirements.txt").unlink(missing_ok=True)
        subprocess.run(["uv", "lock", "--offline", "--quiet"], cwd=versions, check=True)
        (versions / "tool.py").write_text(TOLD.replace("{NAME}", name))
        commit(versions, f"locked-{name}")
    benchmark = python_benchmark(
        *("tool:get",),
        workload="work:one",
        parameters=(1,),
        root=versions,
        recording=QUICK,
        interpreter=Interpreter(environment=Environment()),
    )
    runs = measure(versions, benchmark, revisions=("locked-old", "locked-new"))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail + run.output for run in runs]
    said = [run.output.strip().splitlines()[-1] for run in runs]
    assert said == ["old with dep 1.0", "new with dep 2.0"]


@pytest.mark.acceptance
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_an_environment_that_cannot_be_made_says_why(
    installer: str, versions: Path, measure: Measure, request: pytest.FixtureRequest
) -> None:
    if installer == "pip":
        request.getfixturevalue("no_uv")
    (versions / "requirements.txt").write_text("--no-index\ndep==3.0\n")
    interpreter = Interpreter(environment=Environment())
    benchmark = python_benchmark("tool:get", parameters=(1,), root=versions, interpreter=interpreter)
    [run] = measure(versions, benchmark, revisions=(".",))
    assert run.outcome is Outcome.NOT_BUILT
    assert "failed: " in run.detail.splitlines()[0]
    assert "dep==3.0" in run.detail.splitlines()[0]


PROJECT = """
[project]
name = "tool"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["iniconfig"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["src/tool"]
"""
INSTALLED = """
import sys
from importlib.metadata import version

sys.stderr.write(f"tool {version('tool')} with iniconfig {version('iniconfig')}\\n")


def get(n):
    return n
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_a_project_is_installed_with_what_its_lock_names(
    installer: str, tmp_path: Path, measure: Measure, request: pytest.FixtureRequest
) -> None:
    project = tmp_path / "project"
    (project / "src" / "tool").mkdir(parents=True)
    (project / "src" / "tool" / "__init__.py").write_text(INSTALLED)
    for version, locked in (("1.0", "1.1.1"), ("2.0", "2.0.0")):
        (project / "pyproject.toml").write_text(PROJECT.replace("{version}", version))
        (project / "uv.lock").unlink(missing_ok=True)
        subprocess.run(["uv", "lock", "--quiet", "-P", f"iniconfig=={locked}"], cwd=project, check=True)
        commit(project, f"v{version}")
    (project / "work.py").write_text(WORK)
    if installer == "pip":
        request.getfixturevalue("no_uv")
    benchmark = python_benchmark(
        *("tool:get",),
        workload="work:one",
        parameters=(1,),
        root=project,
        recording=QUICK,
        interpreter=Interpreter(environment=Environment(network=Network.ALLOWED)),
    )
    runs = measure(project, benchmark, revisions=("v1.0", "v2.0"))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail + run.output for run in runs]
    said = [run.output.strip().splitlines()[-1] for run in runs]
    assert said == ["tool 1.0 with iniconfig 1.1.1", "tool 2.0 with iniconfig 2.0.0"]


@pytest.mark.acceptance
def test_releases_come_from_the_index(tmp_path: Path, measure: Measure) -> None:
    work = "import hati\n\n@hati.workload\ndef one(): return 'x', '[a]\\nb=1\\n'\n"
    (tmp_path / "work.py").write_text(work)
    interpreter = Interpreter(environment=Environment(network=Network.ALLOWED))
    shared = {"workload": "work:one", "root": tmp_path, "recording": QUICK, "interpreter": interpreter}
    benchmark = python_benchmark("iniconfig:IniConfig", **shared)
    runs = measure(tmp_path, benchmark, revisions=("iniconfig==1.1.1", "iniconfig==2.0.0"))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail + run.output for run in runs]


@pytest.mark.acceptance
def test_a_release_of_a_package_is_measured_beside_the_working_tree(
    versions: Path, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(versions / "wheels", "tool", "1.4", RELEASED)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(versions / "wheels"))
    benchmark = python_benchmark(
        *("tool:get",),
        workload="work:one",
        parameters=(1,),
        root=versions,
        recording=QUICK,
        interpreter=Interpreter(environment=Environment()),
    )
    runs = measure(versions, benchmark, revisions=("tool==1.4", "."))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail + run.output for run in runs]
    said = [run.output.strip().splitlines()[-1] for run in runs]
    assert said == ["release", "new with dep 2.0"]


def test_old_code_is_measured_on_workloads_that_it_does_not_have(tmp_path: Path, measure: Measure) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("old", "new"):
        (project / "tool.py").write_text(f"import sys\nsys.stderr.write('{name}\\n')\ndef get(n): return n\n")
        commit(project, name)
    (project / "work.py").write_text(WORK)
    benchmark = python_benchmark(
        *("tool:get",),
        workload="work:one",
        parameters=(1,),
        root=project,
        recording=QUICK,
        interpreter=Interpreter(BASE),
    )
    runs = measure(project, benchmark, revisions=("old", "."))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail for run in runs]
    assert [run.output.strip().splitlines()[-1] for run in runs] == ["old", "new"]


LOCK = """
version = 1
[[package]]
name = "dep"
version = "1.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "twice"
version = "1.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "twice"
version = "2.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "tool"
version = "0.1"
source = { editable = "." }
"""
POETRY = "[tool.poetry]\nname = 'tool'\n[tool.poetry.dependencies]\ndep = '^1'\n"
POETRY_LOCK = """
[[package]]
name = "dep"
version = "1.0"
[[package]]
name = "from-git"
version = "1.0"
[package.source]
type = "git"
url = "https://example.org/from-git"
[[package]]
name = "mirrored"
version = "2.0"
[package.source]
type = "legacy"
url = "https://example.org/simple"
"""
PYLOCK = "[[packages]]\nname = 'dep'\nversion = '1.0'\n[[packages]]\nname = 'x'\nversion = '1'\nvcs = {}\n"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, []),
        ({"requirements.txt": "", "requirements-dev.txt": ""}, ["--requirement", "requirements.txt"]),
        ({"requirements-base.txt": ""}, ["--requirement", "requirements-base.txt"]),
        ({"requirements-a.txt": "", "requirements-b.txt": "", "setup.py": ""}, ["--editable", "."]),
        ({"pyproject.toml": "[tool.ruff]\n"}, []),
        ({"pyproject.toml": "[project]\nname = 'tool'\n"}, ["--editable", "."]),
        ({"setup.py": ""}, ["--editable", "."]),
        ({"pyproject.toml": f"{POETRY}[build-system]\nrequires = ['poetry-core']\n"}, ["--editable", "."]),
        ({"pyproject.toml": POETRY, "requirements.txt": ""}, ["--requirement", "requirements.txt"]),
        ({"pyproject.toml": "tool = 1\nproject = 3\n", "uv.lock": "package = [3, {name = 3}]"}, ["--editable", "."]),
    ],
)
def test_what_is_installed_is_what_the_revision_says(files: dict[str, str], wanted: list[str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert requirements(tmp_path) == wanted


def test_a_lock_constrains_what_pip_installs(tmp_path: Path) -> None:
    (tmp_path / ".hati-venv").mkdir()
    (tmp_path / "uv.lock").write_text(LOCK)
    (tmp_path / "setup.py").write_text("")
    assert requirements(tmp_path) == ["--constraint", ".hati-venv/constraints.txt", "--editable", "."]
    assert (tmp_path / ".hati-venv" / "constraints.txt").read_text() == "dep==1.0"
    (tmp_path / "uv.lock").unlink()
    for name, text, told in (
        ("poetry.lock", POETRY_LOCK, ["dep==1.0", "mirrored==2.0"]),
        ("pylock.toml", PYLOCK, ["dep==1.0"]),
    ):
        (tmp_path / name).write_text(text)
        requirements(tmp_path)
        assert (tmp_path / ".hati-venv" / "constraints.txt").read_text().splitlines() == told
        (tmp_path / name).unlink()
    (tmp_path / "uv.lock").write_text("[")
    with pytest.raises(InstallationError, match=r"uv\.lock: "):
        requirements(tmp_path)


def test_what_wishes_name_outside_of_the_tree_counts_by_its_content(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "dep", "1.0", "")
    (tmp_path / "more.txt").write_text("-r further.txt")
    (tmp_path / "further.txt").write_text("dep")
    environment = Environment(("-r", f"{tmp_path}/more.txt"), (f"--find-links={tmp_path}/wheels", "--pre", "--x=y"))
    found = [environment.build("")]
    assert environment.build("") == found[0]
    wheel(tmp_path / "wheels", "dep", "1.0", "edited = 1")
    found.append(environment.build(""))
    (tmp_path / "further.txt").write_text("other")
    found.append(environment.build(""))
    assert len(set(found)) == 3
    assert Wishes.parse(found[0][3:]).extra == environment.extra


def test_wishes_reach_the_installation() -> None:
    environment = Environment(("numpy>=2",), ("--pre", "--x={y}"))
    build = environment.build("cpython-3.12.1")
    assert "option=--x={{y}}" in build
    read = Wishes.parse([word.replace("{{", "{").replace("}}", "}") for word in build[3:]])
    assert read == Wishes("{program:python}", ("numpy>=2",), ("--pre", "--x={y}"), offline=True)
    assert read.uv == ("--pre", "--x={y}", "--offline")
    assert read.pip == ("--pre", "--x={y}", "--no-index")
    allowed = Wishes.parse(Environment(network=Network.ALLOWED).build("")[3:])
    assert not (*allowed.uv, *allowed.pip)
    with pytest.raises(InputError, match="empty requirement"):
        Environment(extra=("",))
