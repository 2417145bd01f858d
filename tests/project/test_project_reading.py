"""What a project file says, and that writing and reading are inverse."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import (
    AUTO,
    Better,
    Binding,
    ConfigurationFile,
    InputError,
    Metric,
    Reader,
    ReaderKind,
    Ready,
    SampleFormat,
    Server,
    Workload,
)
from hati.project import Project, parse_project, read_feature_model, read_project, skeleton, write_project
from hati.space import Option, OptionKind, Space, count, parse_formula
from spaces import spaces

# The example of the format's description.
ORDERS = """\
[subject]
name = "sqlite"

[[benchmark]]
name    = "orders"
build   = ["make", "-s"]                       # optional; once per revision and set of build-time options
prepare = ["python3", "prepare.py", "{work}"]
command = ["python3", "orders.py", "--db", "{work}/orders.db", "--pragmas", "{file:pragmas.json}"]
reader  = "hati"
timeout = "30s"
warmup  = 3
cpus    = [1]

[[benchmark.metric]]
name   = "latency"
unit   = "s"
better = "lower"

[[benchmark.file]]
path     = "pragmas.json"
template = "pragmas.json.j2"

[options.journal_mode]
settings = ["DELETE", "WAL"]
doc      = "how a transaction is made atomic"
argument = "--journal={}"
build    = false

[options.cache_pages]
settings = [2000, 64000]
unit     = "page"

[options.checkpoint]
settings  = [1000, 50]
active_if = "journal_mode == 'WAL'"

[space]
constraints = ["cache_pages <= 2000 or journal_mode == 'WAL'"]
"""
TEMPLATE = '{"journal": {{ journal_mode | tojson }}}\n'


def read(text: str, folder: Path = Path()) -> Project:
    return parse_project(text, folder / "hati.toml")


def test_reads_the_example_of_the_format(tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(ORDERS)
    (tmp_path / "pragmas.json.j2").write_text(TEMPLATE)
    project = read_project(tmp_path)
    assert (project.name, project.root, project.file) == ("sqlite", tmp_path, tmp_path / "hati.toml")
    assert read_project(tmp_path / "hati.toml") == project
    assert project.space == Space(
        (
            Option("journal_mode", ("DELETE", "WAL"), "DELETE", doc="how a transaction is made atomic"),
            Option("cache_pages", (2000, 64000), 2000, unit="page"),
            Option("checkpoint", (1000, 50), 1000, active_if=parse_formula("journal_mode == 'WAL'")),
        ),
        (parse_formula("cache_pages <= 2000 or journal_mode == 'WAL'"),),
    )
    assert count(project.space) == 5
    benchmark = project.benchmark("orders")
    assert benchmark == project.benchmark()
    assert benchmark.command[:3] == ("python3", "orders.py", "--db")
    assert (benchmark.build, benchmark.prepare) == ((("make", "-s"),), (("python3", "prepare.py", "{work}"),))
    assert benchmark.reader == Reader(ReaderKind.HATI)
    assert benchmark.metrics == (Metric("latency", "s", Better.LOWER),)
    assert benchmark.files == (
        ConfigurationFile("pragmas.json", TEMPLATE, str(tmp_path / "pragmas.json.j2"), "pragmas.json.j2"),
    )
    assert (benchmark.timeout, benchmark.warmup, benchmark.cpus) == (30.0, 3, (1,))
    assert benchmark.bindings == (Binding("journal_mode", argument="--journal={}"),)
    assert benchmark.workload == Workload()


def test_warmup_that_is_found_in_each_run() -> None:
    text = '[[benchmark]]\nname = "a"\ncommand = ["./a"]\nwarmup = "auto"\nmetric = [{ name = "time", unit = "s" }]\n'
    assert read(text).benchmark().warmup == AUTO


def test_a_server_a_workload_and_patterns() -> None:
    benchmark = read(
        """
        [[benchmark]]
        name = "a"
        command = ["./client", "{port}", "{n}", "{repetition}", "{revision}", "{{x}}"]
        cleanup = ["rm", "-r", "{work}/x"]
        reader = "regex"
        workload = { n = 1000, fast = true }
        metric = [{ name = "rate", unit = "1/s", better = "higher", pattern = '^rate: (\\d+)$' }]
        [benchmark.server]
        command = ["./server", "--port", "{port}"]
        ready = { port = true, line = "listening", timeout = "1.5s" }
        cpus = [0, 2]
        """
    ).benchmark()
    assert benchmark.workload == Workload({"n": 1000, "fast": True})
    ready = Ready(port=True, line="listening", timeout=1.5)
    assert benchmark.server == Server(("./server", "--port", "{port}"), ready, (0, 2))
    assert benchmark.reader == Reader(ReaderKind.REGEX, (("rate", r"^rate: (\d+)$"),))
    assert benchmark.metrics == (Metric("rate", "1/s", Better.HIGHER),)
    assert (benchmark.timeout, benchmark.warmup, benchmark.cpus, benchmark.files) == (60.0, 0, (), ())


def test_a_server_that_is_told_its_port_is_ready_with_it() -> None:
    text = "[[benchmark]]\nname = 'a'\ncommand = ['b']\nreader = 'process'\n[benchmark.server]\n"
    server = read(text + "command = ['s', '{port}']\n").benchmark().server
    assert server == Server(("s", "{port}"), Ready(port=True))
    with pytest.raises(InputError, match="ready is missing"):
        read(text + "command = ['s']\n")


def test_the_process_reader_has_five_metrics() -> None:
    text = "[[benchmark]]\nname = 'a'\ncommand = ['true']\nreader = 'process'\n"
    assert [(metric.name, metric.unit) for metric in read(text).benchmark().metrics] == [
        ("wall_time", "s"),
        ("user_time", "s"),
        ("system_time", "s"),
        ("cpu_time", "s"),
        ("peak_memory", "B"),
    ]
    some = text + "metric = [{ name = 'peak_memory' }, { name = 'wall_time', unit = 'ms' }]\n"
    assert read(some).benchmark().metrics == (Metric("peak_memory", "B"), Metric("wall_time", "ms"))


def test_a_boolean_option_may_be_a_flag() -> None:
    text = "[[benchmark]]\nname = 'a'\ncommand = ['b']\nreader = 'process'\nbuild = ['make', '{x}', '{revision}']\n"
    options = "[options.v]\nsettings = [false, true]\nargument = '--verbose'\n"
    built = "[options.x]\nsettings = ['-O2', '-O3']\nbuild = true\nargument = '{} {revision}'\n"
    assert read(text + options + built).benchmark().bindings == (
        Binding("v", argument="--verbose"),
        Binding("x", argument="{} {revision}", build=True),
    )


def test_a_space_alone_is_a_project(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "hati.toml").write_text("[options.a]\nsettings = [1.5, 2.0]\n")
    project = read_project(folder)
    assert (project.name, project.benchmarks) == ("shop", ())
    assert project.space.option("a").kind is OptionKind.REAL
    with pytest.raises(InputError, match="the project has no benchmark"):
        project.benchmark()


def test_which_benchmark() -> None:
    one = "[[benchmark]]\nname = '{}'\ncommand = ['true']\nreader = 'process'\n"
    project = read(one.format("orders") + one.format("rows"))
    assert project.benchmark("rows").name == "rows"
    with pytest.raises(InputError, match="there are several benchmarks: orders, rows; say which"):
        project.benchmark()
    with pytest.raises(InputError, match="there is no benchmark 'order'; did you mean 'orders'"):
        project.benchmark("order")


def test_line_ends_of_windows() -> None:
    assert read(ORDERS.partition("[[benchmark")[0].replace("\n", "\r\n")).name == "sqlite"
    with pytest.raises(InputError) as caught:
        read("[options.a]\r\nsettings = [1,\r\n 1]\r\n")
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (3, 2)


def test_tabs_and_line_breaks_are_settings() -> None:
    project = read('[options.separator]\nsettings = ["\\t", "\\n", ","]\nargument = "--separator={}"\n')
    assert project.space.option("separator").settings == ("\t", "\n", ",")


def readable(space: Space) -> bool:
    """Whether a project file may have its settings: none has a NUL."""
    texts = (setting for option in space.options for setting in option.settings if isinstance(setting, str))
    return all("\0" not in text for text in texts)


@given(spaces().filter(readable), st.text(min_size=1).filter(lambda name: bool(name.strip())))
def test_writing_and_reading_are_inverse(space: Space, name: str) -> None:
    project = read(write_project(space, name))
    assert (project.space, project.name) == (space, name)
    assert project.space.digest == space.digest


def test_without_a_name_the_folder_gives_it(tmp_path: Path) -> None:
    assert read(write_project(Space(()), ""), tmp_path).name == tmp_path.name


def test_a_space_of_a_feature_model_is_written_and_read(shared_data: Path) -> None:
    for system in ("lrzip", "hipacc", "hsqldb"):
        model = read_feature_model(shared_data / "configurable-systems" / system / "FeatureModel.xml")
        assert read(write_project(model.space, model.name)).space == model.space


@pytest.mark.parametrize("name", ["shop", 'a "b"\\', "NAME"])
def test_the_skeleton_is_a_project(name: str) -> None:
    project = read(skeleton(name))
    assert project.name == name
    assert count(project.space) == 4
    assert project.benchmark().reader == Reader(ReaderKind.PROCESS)


def test_the_skeleton_with_its_comments_taken_off_is_a_project() -> None:
    lines = [
        line.removeprefix("# ") if " = " in line or line.startswith("# [") else line
        for line in skeleton("x").splitlines()
    ]
    project = read("\n".join(line for line in lines if not line.startswith("build")))
    assert set(project.space.names) == {"size", "reverse", "level"}
    assert project.benchmark().warmup == 3


def test_readers_of_other_tools_find_a_benchmark_by_its_name() -> None:
    text = """
        [[benchmark]]
        name = "sorting"
        build = ["make", "SIZE={n}"]
        command = ["java", "-jar", "b.jar", "-f", "1", "-rf", "json", "-rff", "{work}/jmh.json"]
        reader = "jmh"
        output = "{work}/jmh.json"
        metric = [
          { name = "latency", unit = "us/op", field = "avgt", pattern = 'sort \\(n={n},' },
          { name = "thrpt", unit = "ops/s", better = "higher" },
        ]
        workload = { n = 10 }
    """
    benchmark = parse_project(text, Path("hati.toml")).benchmark()
    assert benchmark.build == (("make", "SIZE={n}"),)
    assert benchmark.output == "{work}/jmh.json"
    assert benchmark.reader == Reader(SampleFormat.JMH, (("latency", r"sort \(n={n},"),), (("latency", "avgt"),))
