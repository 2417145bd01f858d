from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from measuring import QUICK, Measure

from hati.campaign import Dispatcher, JobMaker, campaign
from hati.core import Benchmark, Budget, Configuration, InputError, Outcome, Run
from hati.engine import LocalEngine
from hati.python import Collector, Interpreter, PythonMethod, Recording, python_benchmark
from hati.store import open_store
from hati.studies.measurement import Measurement, measurement_id
from hati.subject import machine


def told(run: Run, metric: str) -> float:
    """What the recorder says of a run besides its metrics."""
    found = re.findall(rf'{{"metric": "{metric}".*}}', run.output)
    return float(json.loads(found[-1])["value"])


def test_functions_methods_and_loops_are_measured(project: Path, measure: Measure) -> None:
    runs = measure(
        project,
        python_benchmark("lists:sort", workload="work:rand", parameters=(100,), root=project, recording=QUICK),
        python_benchmark(
            "lists:Bag.contains",
            workload="work:search",
            instance="work:bag",
            parameters={"n": 100, "size": 100},
            root=project,
            recording=QUICK,
        ),
        python_benchmark("work:building", parameters=(1000,), root=project, recording=QUICK),
        python_benchmark("builtins:sorted", workload="work:rand", parameters=(9,), root=project, recording=QUICK),
    )
    assert [run.outcome for run in runs] == [Outcome.DONE] * 4, [run.output for run in runs]
    for run in runs:
        wall, cpu, memory = (run.of(metric) for metric in ("wall_time", "cpu_time", "peak_memory"))
        turns = run is runs[2]  # which a coarse clock may not see
        assert wall is not None and wall.warmup <= 2 and (turns or wall.values.min() > 0)  # noqa: PT018  # None first, for mypy
        assert cpu is not None and cpu.unit == "s"  # noqa: PT018  # None first, for mypy
        assert memory is not None and 2**20 < memory.mean < 2**31  # noqa: PT018  # None first, for mypy
    assert len({told(run, "hash_seed") for run in runs}) == 4
    assert told(runs[3], "batch") > 1


def test_what_cannot_be_measured_is_a_failed_run(project: Path, measure: Measure) -> None:
    [run] = measure(project, python_benchmark("missing:sort", root=project, recording=QUICK))
    assert run.outcome is Outcome.FAILED
    assert run.detail.endswith("hati: there is no module missing in the revision")


def named(root: Path, **more: object) -> Benchmark:
    return python_benchmark("lists:sort", workload="work:rand", parameters=(50,), root=root, **more)  # type: ignore[arg-type]  # of all types


def test_a_benchmark_is_told_by_its_workloads_content_and_by_no_path(project: Path) -> None:
    before = named(project)
    assert str(project) not in before.definition
    assert before.name == "lists:sort[rand]"
    assert dict(before.workload) == {"n": 50}
    assert named(project).definition == before.definition
    with (project / "src" / "work.py").open("a") as file:
        file.write("\nmore = 1\n")
    assert named(project).definition != before.definition
    assert len(before.definition) < 2000


def test_campaigns_and_stores_take_it_as_any_other(project: Path) -> None:
    benchmark, here = named(project, recording=QUICK), machine()
    study = measurement_id(benchmark, [Configuration()], "here", "2", 1, here.fingerprint)
    store = open_store("sqlite://")
    store.begin(study, benchmark.metrics, here)
    with LocalEngine(project, [benchmark], here, lock=project / "lock") as engine:
        limit = Budget.parse("2")
        taking = Dispatcher(engine, JobMaker({benchmark.name: benchmark}, str))
        concluded = campaign(Measurement(study, benchmark, (Configuration(),), "here", limit), taking, store, limit)
    assert {summary.metric.name: summary.runs for summary in concluded.summaries} == dict.fromkeys(
        ("wall_time", "cpu_time", "peak_memory"), 2
    )
    assert [dict(run.task.workload) for run in store.evidence(study).runs] == [{"n": 50}] * 2


def test_an_edited_workload_ends_the_measurement(project: Path, measure: Measure) -> None:
    benchmark = named(project, recording=QUICK)
    (project / "src" / "work.py").write_text("")
    [run] = measure(project, benchmark)
    assert run.detail.endswith("hati: src/work.py was edited since the measurement was planned; start it again")


def test_what_is_wrong_with_references_and_parameters_is_told(project: Path) -> None:
    with pytest.raises(InputError, match="names no Python function; write module:function"):
        PythonMethod.parse("lists.sort")
    with pytest.raises(InputError, match="no function 'rnd'; did you mean 'rand'"):
        python_benchmark("lists:sort", workload="work:rnd", root=project)
    with pytest.raises(InputError, match="may not be named 'revision'"):
        python_benchmark("lists:sort", workload="work:rand", parameters={"revision": 1}, root=project)
    with pytest.raises(InputError, match="no metric 'energy'"):
        Recording(metrics=("energy",))
    with pytest.raises(InputError, match="frozen_modules"):
        Interpreter(frozen_modules="maybe")
    with pytest.raises(InputError, match="roots"):
        Interpreter(roots=("../elsewhere",))


def test_functions_that_are_elsewhere_may_be_named(project: Path) -> None:
    (project / "again.py").write_text("from work import rand\nfrom common import *\nother = rand\n")
    assert dict(python_benchmark("gone:sort", workload="again:rand", parameters=[3], root=project).workload) == {"n": 3}
    for name in ("other", "unknown"):
        assert dict(python_benchmark("gone:sort", workload=f"again:{name}", parameters=[3], root=project).workload) == {
            "p1": 3
        }
    assert dict(python_benchmark("lists:gone", parameters=[3], root=project).workload) == {"p1": 3}
    assert dict(python_benchmark("lists:get", parameters=[3], root=project).workload) == {"n": 3}


def test_the_collector_and_frozen_modules_are_as_configured(project: Path) -> None:
    benchmark = named(
        project,
        recording=Recording(collector=Collector.BETWEEN),
        interpreter=Interpreter(frozen_modules="off", hash_seed=7),
    )
    assert {"collector=between", "frozen=off", "hash_seed=7"} <= set(benchmark.command)
