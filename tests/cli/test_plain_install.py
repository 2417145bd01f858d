"""The program without its extras: what a plain install does, and what it says of the rest."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from forked import Ended

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "charts": ("altair", "vl_convert", "narwhals"),
    "grid": ("distributed", "dask"),
    "parquet": ("pyarrow",),
    "postgres": ("psycopg",),
    "simulation": ("simpy",),
    "solver": ("ortools", "pandas"),
    "trees": ("sklearn",),
    "volunteers": ("cryptography", "fastapi", "uvicorn"),
}
PLAIN = f"""
import sys
sys.modules.update(dict.fromkeys({[name for names in MODULES.values() for name in names]}))
from hati.cli import main
sys.exit(main(sys.argv[1:]))
"""
CONSTRAINED = """
[options.g]
settings = [1, 2, 3]
active_if = "c == 'on'"

[space]
constraints = ["a == 'on' => b == 'on' or e == 'off'", "not (b == 'on' and c == 'on' and g == 3)"]
"""


def plain(folder: Path, *words: str) -> Ended:
    own = {"HATI_LOCK": str(folder.parent / "lock"), "COLUMNS": "80", "PATH": str(Path(sys.executable).parent)}
    command = [sys.executable, "-c", PLAIN, *words]
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.acceptance
def test_a_constrained_space_is_screened_and_reported_as_html(fake_project: Path) -> None:
    with (fake_project / "hati.toml").open("a") as file:
        file.write(CONSTRAINED)
    assert "nothing is wrong" in plain(fake_project, "space", "check").out
    done = plain(fake_project, "screen", "--metric", "latency", "--budget", "60", "--set", "d == 'on' => e == 'on'")
    assert done.status == 0, done.err
    assert done.err.count("pip install 'hati[charts]'") == 1
    [report] = (fake_project / ".hati" / "reports").iterdir()
    page = report.read_text()
    assert "none: charts need Altair and vl-convert; install them: pip install &#39;hati[charts]&#39;" in page
    assert "a=on" in page
    assert "<svg" not in page


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("charts", ("report", "--charts", "out")),
        ("grid", ("run", "--budget", "1", "--engine", "tls://head:8786")),
        ("parquet", ("export", "--format", "parquet", "--output", "x.parquet")),
        ("postgres", ("run", "--budget", "1", "--store", "postgresql:///x")),
    ],
)
def test_what_needs_an_extra_names_it_in_a_line(extra: str, words: tuple[str, ...], fake_project: Path) -> None:
    assert plain(fake_project, "screen", "--metric", "latency", "--budget", "16").status == 0
    done = plain(fake_project, *words)
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert f"pip install 'hati[{extra}]'" in done.err


def test_all_has_every_extra_and_a_plain_install_none() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() == {*MODULES, "all"}
    assert extras["all"] == [f"hati[{','.join(sorted(MODULES))}]"]
    heavy = ("altair", "vl-convert", "ortools", "pyarrow", "psycopg", "pandas")
    assert [each for each in project["dependencies"] if each.startswith(heavy)] == []


def test_no_module_loads_an_extra_before_it_is_used(tmp_path: Path) -> None:
    rooms = "hati.cli.app, hati.pytest_plugin.collecting, hati.store, hati.space"
    code = f"import json, sys, {rooms}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded.isdisjoint(name for names in MODULES.values() for name in names)


@pytest.mark.acceptance
def test_a_report_of_failures_says_how_to_get_a_tree(tmp_path: Path) -> None:
    options = "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in "abc")
    (tmp_path / "hati.toml").write_text(
        '[[benchmark]]\nname = "main"\ncommand = ["/bin/sh", "-c", \'[ "$1" = a=off ] && echo "time: 1"\', "x"]\n'
        'reader = "regex"\nmetric = [{ name = "time", unit = "s", pattern = "time: (\\\\d+)" }]\n' + options
    )
    done = plain(tmp_path, "failures")
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert "a=on fails" in said
    assert "none: classification trees need scikit-learn; install it: pip install 'hati[trees]'" in said
    refused = plain(tmp_path, "tree")
    assert refused.status != 0
    assert refused.err.strip() == "error: classification trees need scikit-learn; install it: pip install 'hati[trees]'"
