"""Thirty and more broken projects: each ends with 2 or 4, and a message that names the place and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from hati.cli import main
from hati.cli.app import app

if TYPE_CHECKING:
    from conftest import Hati

GOOD = """\
[subject]
name = "s"

[[benchmark]]
name = "b"
command = ["python3", "-S", "subject.py"]
reader = "hati"
timeout = "20s"

[[benchmark.metric]]
name = "latency"
unit = "s"

[options.a]
settings = [0, 1]

[options.b]
settings = ["x", "y"]

[options.c]
settings = [false, true]
"""
SERVER = """
[benchmark.server]
command = ["sh", "-c", "sleep 30", "{port}"]
ready = { port = true, timeout = "200ms" }
"""
PRINTS = 'print(\'{"metric": "latency", "values": [0.1, 0.2]}\')'


@dataclass(frozen=True)
class Broken:
    """A project with one thing wrong: what stands instead of what, or what the subject does instead."""

    name: str
    status: int
    says: tuple[str, ...]
    replace: tuple[str, str] = ("", "")
    subject: str = PRINTS
    command: tuple[str, ...] = ("screen", ".", "--metric", "latency", "--budget", "8")


def also(toml: str) -> tuple[str, str]:
    """Another table before the options."""
    return ("[options.a]", f"{toml}\n[options.a]")


def with_key(toml: str) -> tuple[str, str]:
    """Another key of the benchmark."""
    return ('timeout = "20s"', f'timeout = "20s"\n{toml}')


def with_option_key(toml: str) -> tuple[str, str]:
    """Another key of option a."""
    return ("settings = [0, 1]", f"settings = [0, 1]\n{toml}")


def printing(line: str) -> str:
    return f"print({line!r})"


CASES = [
    Broken("toml syntax", 2, ("hati.toml:5:",), ('name = "b"', "name = ")),
    Broken("unclosed string", 2, ("hati.toml:2:10", "never closed"), ('name = "s"', 'name = "s')),
    Broken("unknown key", 2, ("hati.toml:", "timeout"), ('timeout = "20s"', 'timout = "20s"')),
    Broken("unknown table", 2, ("hati.toml:", "options"), ("[options.a]", "[option.a]")),
    Broken("a setting twice", 2, ("hati.toml:15:", "twice"), ("settings = [0, 1]", "settings = [0, 0]")),
    Broken("no settings", 2, ("hati.toml:15:", "settings"), ("settings = [0, 1]", "settings = []")),
    Broken(
        "settings of two types", 2, ("hati.toml:15:16", "use one type"), ("settings = [0, 1]", 'settings = [0, "x"]')
    ),
    Broken("settings is no list", 2, ("hati.toml:15:",), ("settings = [0, 1]", "settings = 3")),
    Broken("default is not a valid setting", 2, ("hati.toml:",), with_option_key("default = 7")),
    Broken("constraint syntax", 2, ("hati.toml:", "expected"), also('[space]\nconstraints = ["a == "]')),
    Broken("constraint with unknown option", 2, ("hati.toml:15:", "aa"), also('[space]\nconstraints = ["aa == 1"]')),
    Broken(
        "contradictory constraints",
        2,
        ("a == 0", "a == 1"),
        also('[space]\nconstraints = ["a == 0", "b == \'x\'", "a == 1"]'),
        command=("space", "check", "."),
    ),
    Broken(
        "constraints that nothing satisfies",
        2,
        ("no valid configuration", "hati space check"),
        also('[space]\nconstraints = ["a == 0", "a == 1"]'),
    ),
    *(
        Broken(
            f"constraints that nothing satisfies, {command[0]}",
            2,
            ("no valid configuration", "hati space check"),
            also('[space]\nconstraints = ["a == 0", "a == 1"]'),
            command=command,
        )
        for command in (("run", ".", "--budget", "2"), ("audit", ".", "--budget", "12"))
    ),
    Broken(
        "too few runs for constraints",
        2,
        ("6 runs are too few", "at least 7"),
        also('[space]\nconstraints = ["a == 0 or c"]'),
        command=("screen", ".", "--metric", "latency", "--budget", "6"),
    ),
    Broken("active_if in a circle", 2, ("hati.toml:",), with_option_key('active_if = "a == 1"')),
    Broken("wrong placeholder", 2, ("hati.toml:6:", "{work}"), ('"subject.py"]', '"subject.py", "{wrk}"]')),
    Broken("unknown reader", 2, ("hati.toml:7:", "hati"), ('reader = "hati"', 'reader = "haty"')),
    Broken("bad timeout", 2, ("hati.toml:8:", "30s"), ('timeout = "20s"', 'timeout = "soon"')),
    Broken(
        "no command", 2, ("hati.toml:4:1", "command is missing"), ('command = ["python3", "-S", "subject.py"]\n', "")
    ),
    Broken("empty command", 2, ("hati.toml:6:",), ('command = ["python3", "-S", "subject.py"]', "command = []")),
    Broken(
        "no metric",
        2,
        ("hati.toml:4:1", "[[benchmark.metric]]"),
        ('[[benchmark.metric]]\nname = "latency"\nunit = "s"\n', ""),
    ),
    Broken(
        "unknown metric asked for",
        2,
        ("no metric 'throughput'", "there are: latency"),
        command=("screen", ".", "--metric", "throughput"),
    ),
    Broken(
        "unknown benchmark asked for",
        2,
        ("there is no benchmark 'c'", "there are: b"),
        command=("run", ".", "--benchmark", "c"),
    ),
    Broken("budget that is none", 2, ("96", "2m"), command=("screen", ".", "--metric", "latency", "--budget", "lots")),
    Broken(
        "budget too small",
        2,
        ("2 runs are too few", "give at least 7"),
        command=("screen", ".", "--metric", "latency", "--budget", "2"),
    ),
    Broken("unknown cpu", 2, ("CPU 4096", "available"), with_key("cpus = [4096]")),
    Broken("missing template", 2, ("t.j2",), also('[[benchmark.file]]\npath = "t"\ntemplate = "t.j2"')),
    Broken(
        "missing program", 4, ("no-such-program", "install it"), ('"python3", "-S", "subject.py"', '"no-such-program"')
    ),
    Broken("prints nothing", 4, ("no metric 'latency'", "reader 'hati' finds nothing", "print"), subject="pass"),
    Broken("prints NaN", 4, ("NaN",), subject=printing('{"metric": "latency", "values": [NaN]}')),
    Broken("negative time", 4, ("negative",), subject=printing('{"metric": "latency", "values": [-0.1]}')),
    Broken(
        "wrong unit",
        4,
        ("cannot be converted", "hati.toml"),
        subject=printing('{"metric": "latency", "unit": "B", "values": [1.0]}'),
    ),
    Broken("text for a number", 4, ("not a number",), subject=printing('{"metric": "latency", "values": ["fast"]}')),
    Broken(
        "another metric",
        4,
        ("only 'latenzy'", "correct `name` at hati.toml:"),
        subject=printing('{"metric": "latenzy", "values": [0.1]}'),
    ),
    Broken("much output", 4, ("printed more than",), subject="for _ in range(40): print('x' * 1_000_000)"),
    Broken("exits with 3", 4, ("exit status 3",), subject="import sys; sys.exit(3)"),
    Broken("ends by a signal", 4, ("SIGSEGV",), subject="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
    Broken("only warm-up", 4, ("lower `warmup`",), with_key("warmup = 5")),
    Broken(
        "hangs",
        4,
        ("within 0.2 s", "raise `timeout`"),
        ('timeout = "20s"', 'timeout = "200ms"'),
        subject="import time; time.sleep(99)",
    ),
    Broken(
        "server never ready",
        4,
        ("server was not ready", "port"),
        also(SERVER),
    ),
    Broken("failing preparation", 4, ("`prepare` ended with exit status 1",), with_key('prepare = ["false"]')),
    Broken("failing build", 4, ("the build ended with exit status 1",), with_key('build = ["false"]')),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_broken_project_is_told_with_place_and_fix(
    case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = case.replace
    assert old in GOOD
    (tmp_path / "hati.toml").write_text(GOOD.replace(old, new, 1))
    (tmp_path / "subject.py").write_text(case.subject)
    monkeypatch.chdir(tmp_path)
    status = main(case.command)
    out, err = capfd.readouterr()
    assert status == case.status, err
    told = err if case.command[0] != "space" else out
    assert "Traceback" not in err
    for words in case.says:
        assert words in told
    if status == 4:
        assert "correct the benchmark" in told
    if case.command[0] != "space":
        error = err[err.index("error: ") :]
        assert len(error.strip().splitlines()) <= 3, error


def test_what_a_benchmark_needs_and_the_machine_lacks_is_a_warning(hati: Hati, tmp_path: Path) -> None:
    """A variable that is not set, an unknown user, programs that are not there, and a unit spelled otherwise."""
    file = tmp_path / "hati.toml"
    variable = 'env = { KEY = "{env:NO_KEY}" }'
    needs = f'user = "no-such-user"\nsetup = [["no-such-program"], ["./none", "{{a}}{{b}}{{c}}"]]\n{variable}'
    file.write_text(GOOD.replace(*with_key(needs)).replace('unit = "s"', 'unit = "msec"'))
    done = hati("space", "check")
    assert done.status == 0
    said = " ".join(done.err.split())
    assert "env.KEY of benchmark 'b' needs the environment variable 'NO_KEY', which is not set" in said
    assert "there is no user 'no-such-user', who runs benchmark 'b'" in said
    assert "the program 'no-such-program' of benchmark 'b' is not installed" in said
    assert "the program './none' of benchmark 'b' does not exist, or is not executable" in said
    assert "'msec', the unit of metric 'latency', cannot be converted: write unit = 'ms'" in said
    assert said.count("warning: ") == 5
    file.write_text(GOOD.replace(*with_key(f'setup = [["sh", "-c", "echo {{a}}{{b}}{{c}}"]]\n{variable}')))
    assert hati("space", "check", env={"NO_KEY": "1"}).err == ""
    by_others = file.read_text().replace('name = "s"', 'name = "s"\nengine = "workers"')
    file.write_text(by_others.replace('["sh"', '["no-such-program"'))
    assert hati("space", "check").err == ""


@pytest.mark.parametrize("project", [".", "./", "./hati.toml"])
def test_an_executable_of_the_current_folder_is_found(hati: Hati, tmp_path: Path, project: str) -> None:
    (tmp_path / "hati.toml").write_text(GOOD.replace('"python3", "-S", "subject.py"', '"./run.sh", "{a}{b}{c}"'))
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    assert hati("space", "check", project).err == ""


def test_cpus_that_this_machine_lacks_and_an_option_without_a_choice_are_warnings(hati: Hati, tmp_path: Path) -> None:
    file = tmp_path / "hati.toml"
    file.write_text(GOOD.replace(*with_key("cpus = [4095]")) + '\n[options.z]\nsettings = ["only"]\nargument = "{}"\n')
    done = hati("space", "check")
    assert done.status == 0
    assert "nothing is wrong" not in done.out
    assert f": {done.err.count('warning: ')} warnings." in done.out
    said = " ".join(done.err.split())
    assert "benchmark 'b' is to run on CPU 4095, which is not there; available: " in said
    assert "option 'z' has one setting, only, and cannot have an effect: add another" in said


def test_an_empty_setting_that_is_an_argument_of_its_own_is_a_warning(hati: Hati, tmp_path: Path) -> None:
    file = tmp_path / "hati.toml"
    coding = '\n[options.z]\nsettings = ["", "--rle"]\nargument = "{}"\n'
    file.write_text(GOOD + coding)
    said = " ".join(hati("space", "check").err.split())
    assert "the setting '' of option 'z' passes an empty argument: to pass none, leave it out" in said
    file.write_text(GOOD + coding.replace('"{}"', '"--coding={}"'))
    assert "empty argument" not in hati("space", "check").err
    nested = coding.replace('["", "--rle"]', '["--huffman", "--rle"]') + 'active_if = "y"\n'
    file.write_text(f"{GOOD}{nested}[options.y]\nsettings = [false, true]\n")
    done = hati("space", "check")
    assert done.status == 0
    assert "empty argument" not in done.err


@pytest.mark.parametrize("text", [GOOD.replace(*with_key("cpus = [4095]")), GOOD + SERVER + "cpus = [4095, 4094]\n"])
@pytest.mark.parametrize("command", [["run"], ["screen", "--budget", "8"]])
def test_a_cpu_that_this_machine_lacks_is_refused_at_its_place(
    hati: Hati, tmp_path: Path, text: str, command: list[str]
) -> None:
    (tmp_path / "hati.toml").write_text(text)
    number, line = next(found for found in enumerate(text.splitlines(), 1) if "4095" in found[1])
    done = hati(*command)
    assert done.status == 2
    assert f"error: hati.toml:{number}:{line.index('4095') + 1}: benchmark 'b' is to run on CPU 4095" in done.err


def test_a_folder_without_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["screen", "."]) == 2
    assert "hati init" in capfd.readouterr().err


_TAKEN = (
    "`fast` is the folder of a project, which `hati {verb}` takes by --project; "
    "write `hati {verb} --project fast{more}`"
)


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["check", "fast"], ""),
        (["check", "fast", "HEAD", "--margin", "2%"], " HEAD --margin 2%"),
        (["history", "fast"], ""),
        (["bisect", "fast"], ""),
        (["compare-effects", "fast", "old"], " old"),
        (["findings", "fast"], ""),
        (["compare", "fast"], ""),
        (["assert", "fast"], ""),
    ],
)
def test_a_project_among_other_arguments_is_answered_with_the_command(
    words: list[str], more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "fast"
    folder.mkdir()
    (folder / "hati.toml").write_text('[[benchmark]]\nname = "b"\ncommand = ["true"]\n')
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    *first, last = capfd.readouterr().err.splitlines()
    folders = words[0] in {"compare", "assert"}  # which take folders of files, so that the error may be another one
    assert last == f"{'note' if folders else 'error'}: {_TAKEN.format(verb=words[0], more=more)}"
    assert len(first) == folders
    monkeypatch.chdir(folder)
    main(words)
    assert "takes by --project" not in capfd.readouterr().err


@pytest.mark.parametrize("words", [("space", "count"), ("screen", "--dry-run", "--budget", "8"), ("runs",)])
def test_every_verb_takes_the_folder_of_a_project_as_an_option(
    words: tuple[str, ...], fake_project: Path, hati_here: Hati, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    as_argument = hati_here(*words, str(fake_project), folder=elsewhere)
    for option in (("--project", str(fake_project)), (f"--project={fake_project}",)):
        assert hati_here(*words, *option, folder=elsewhere) == as_argument
        assert (
            hati_here(*words, "--project", "nowhere", *option, folder=elsewhere) == as_argument
        )  # the last one counts
    assert hati_here(*words, "--project", folder=elsewhere).status == 2
    twice = hati_here(*words, str(fake_project), "--project", str(fake_project), folder=elsewhere)
    assert (twice.status, "PATH and --project both name the project" in twice.err) == (2, True)


def test_every_verb_with_a_path_shows_the_option_of_the_project() -> None:
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    groups = [program, *(each for each in program.commands.values() if isinstance(each, TyperGroup))]
    for command in (each for group in groups for each in group.commands.values()):
        places = {each.name for each in command.params if each.name == "path" and each.metavar == "PATH"}
        if places:
            assert any("--project" in each.opts for each in command.params), command.name


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["findings", "--output", "fast", "--bogus"], "No such option: --bogus"),
        (["check", "fast", "--bogus"], "No such option: --bogus"),
        (["findings", "acknowledge", "fast"], "Missing option"),
        (["screen", "fast", "--bogus"], "No such option: --bogus"),
        (["check", "HEAD", "--reference", "fast"], "hati init"),
    ],
)
def test_the_folder_of_a_project_that_is_no_argument_leaves_the_error(
    words: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast" / "hati.toml").write_text('[[benchmark]]\nname = "b"\ncommand = ["true"]\n')
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    said = capfd.readouterr().err
    assert error in said
    assert "takes by --project" not in said


def test_a_project_without_options_and_benchmarks_is_not_sound(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text("")
    done = hati("space", "check")
    assert (done.status, done.out) == (2, "")
    assert "no options and no benchmarks; write [options.NAME] and [[benchmark]]" in done.err


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["screen", "--no-such-option"], ["screen", "--seed", "x"], ["space", "nonsense"]]
)
def test_wrong_usage_is_2(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_no_place_for_the_store(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(GOOD)
    (tmp_path / "subject.py").write_text(PRINTS)
    (tmp_path / ".hati").write_text("a file where the folder should be")
    done = hati("screen", ".", "--metric", "latency", "--budget", "8")
    assert done.status == 2
    assert ".hati" in done.err
    assert "Traceback" not in done.err
