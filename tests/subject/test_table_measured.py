"""Tables as measured configurations: lookup, repetitions, noise, and what is said of rows that cannot be."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import CACHE, FEATURES, GOOD, table, written

from hati.core import Configuration, InputError, Metric, Workload, setting_text
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.subject.table import (
    MetricColumn,
    Sheet,
    assembled,
    infer_space,
    metric_column,
    read_deviations,
    same_everywhere,
    space_columns,
)
from hati.subject.table.options import noisy
from hati.subject.table.sheet import parse_delimited
from spaces import spaces

LRU = Configuration({"policy": "lru", "size": 64, "shards": 1, "fast": False})
NONE = Configuration({"policy": "none", "shards": 1, "fast": False})
LATENCY = MetricColumn(Metric("latency", "s"), "latency")


def sheet(text: str) -> Sheet:
    return parse_delimited(text, "t.csv", "c0ffee")


def repeated(*rows: str, columns: str = "repetition") -> str:
    return f"policy,size,shards,fast,{columns},latency\n" + "".join(f"lru,64,1,0,{row}\n" for row in rows)


@settings(max_examples=60)
@given(spaces(), st.randoms(use_true_random=False))
def test_a_table_written_from_configurations_is_read_back(space: Space, random: Random) -> None:
    configurations = list(enumerate_configurations(space))[:40]
    random.shuffle(configurations)
    if not configurations:
        return
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([*space.names, "the metric"])
    for number, configuration in enumerate(configurations):
        cells = [setting_text(configuration[name]) if name in configuration else "" for name in space.names]
        writer.writerow([*cells, f"{number / 7!r}"])
    read = assembled(sheet(stream.getvalue()), space, (MetricColumn(Metric("m", "s"), "the metric"),), None)
    assert list(read.configurations) == configurations
    assert read.means("m").tolist() == [number / 7 for number in range(len(configurations))]
    assert [read.run(c, 0, "t") for c in configurations] == [{"m": n / 7} for n in range(len(configurations))]
    assert read.outside == 0


def test_runs_are_looked_up_by_configuration_and_repetition(tmp_path: Path) -> None:
    read = table(written(tmp_path, GOOD))
    assert read.run(LRU, 0, "t") == {"latency": 1.5}
    assert read.run(LRU, 1, "t") == f"the table has 1 run, and no more, of {LRU}"
    absent = Configuration({**NONE, "shards": 4})
    assert read.run(absent, 0, "t") == f"the table has no row of {absent}"
    assert read.run(Configuration({"other": 1}), 0, "t") == "the table has no row of other=1"
    assert (read.repetitions, read.name, read.outside) == (1, "t.csv", 0)
    assert read.revision == read.content


def test_repetitions_are_rows_or_stand_in_one_cell() -> None:
    for text in (
        repeated("2,0.3", "0,0.1", "1,0.2"),
        repeated("b,0.1", "a,0.2", "c,0.3", columns="run"),
        repeated("b,0,0.1", "a,1,0.2", "a,2,0.3", columns="run,repetition"),
        GOOD.replace("1.5", "0.1@0.2@0.3"),
        repeated("0,0.1@0.2", "1,0.3"),
    ):
        read = assembled(sheet(text), CACHE, (LATENCY,), None)
        assert [read.run(LRU, r, "t") for r in range(3)] == [{"latency": v} for v in (0.1, 0.2, 0.3)]
        assert isinstance(read.run(LRU, 3, "t"), str)
        assert read.means("latency")[0] == pytest.approx(0.2)
    assert assembled(sheet(repeated("0,1@2@3", "1,4")), CACHE, (LATENCY,), None).repetitions == 4
    assert assembled(sheet(GOOD.replace("1.5", "1@2")), CACHE, (LATENCY,), None).repetitions == 1


def test_a_value_that_is_missing_is_a_failed_run() -> None:
    for missing in ("", "nan", "NA"):
        read = assembled(sheet(GOOD.replace("1.5", missing)), CACHE, (LATENCY,), None)
        assert read.run(LRU, 0, "t") == f"the table has a row without a value of {LRU}"
        assert math.isnan(read.means("latency")[0])
        assert read.repetitions == 1


def test_several_metrics_are_of_one_run() -> None:
    text = GOOD.replace("latency", "latency,memory").replace("1.5", "1.5@1.6,10").replace("25\n", "25,\n")
    text = text.replace("75\n", "75,8\n").replace("3\n", "3,9\n")
    read = assembled(sheet(text), CACHE, (LATENCY, MetricColumn(Metric("memory", "B"), "memory")), None)
    assert read.run(LRU, 0, "t") == {"latency": 1.5, "memory": 10.0}
    assert read.run(LRU, 1, "t") == {"latency": 1.6}
    assert read.run(NONE, 0, "t") == {"latency": 3.0, "memory": 9.0}


def test_rows_beyond_the_constraints_are_left_out_and_counted() -> None:
    read = assembled(sheet(GOOD + "lru,64,1,1,9\n"), CACHE, (LATENCY,), None)
    assert (len(read.configurations), read.outside) == (4, 1)


def test_revision_and_workload_are_those_of_the_rows() -> None:
    def read(workload: str) -> Workload:
        header, *rows = GOOD.splitlines()
        text = f"{header},revision,workload\n" + "".join(f"{row},2.1.0,{workload}\n" for row in rows)
        made = assembled(sheet(text), CACHE, (LATENCY,), None)
        assert made.revision == "2.1.0"
        return made.workload

    assert read('"{""n"": 3}"') == Workload({"n": 3})
    assert read("large") == Workload({"workload": "large"})
    assert read("[1]") == Workload({"workload": "[1]"})
    assert read("") == Workload()


def test_noise_is_a_function_of_the_task_and_has_the_stated_moments() -> None:
    read = assembled(sheet(GOOD), CACHE, (LATENCY,), same_everywhere(0.1))
    assert read.repetitions == math.inf
    assert read.run(LRU, 7, "a") == read.run(LRU, 7, "a") != read.run(LRU, 7, "b")
    drawn = np.array([noisy(2.0, 0.2, 0, "task", str(i)) for i in range(4000)])
    # Mean 2 and standard deviation .4, each to within five standard errors.
    assert abs(drawn.mean() - 2.0) < 5 * 0.4 / math.sqrt(4000)
    assert abs(drawn.std() - 0.4) < 5 * 0.4 * 1.1 / math.sqrt(2 * 4000)
    assert noisy(-3.0, 0.0, 0, "x") == -3.0


def test_deviations_come_from_a_table_by_configuration() -> None:
    given = read_deviations(sheet(GOOD.replace("1.5", "0").replace("3\n", "\n")), CACHE, {"latency": "latency"})
    read = assembled(sheet(GOOD), CACHE, (LATENCY,), given)
    assert read.run(LRU, 3, "t") == {"latency": 1.5}
    assert read.run(NONE, 0, "t") == f"there is no relative deviation of {NONE}"
    assert read.run(read.configurations[1], 0, "t") != {"latency": 1.25}
    twice = read_deviations(sheet(repeated("0,0.3", "1,0.4")), CACHE, {"latency": "latency"})
    assert twice.of(assembled(sheet(GOOD), CACHE, (LATENCY,), None).codes[0].tobytes(), "latency") == pytest.approx(
        math.sqrt(0.125)
    )
    with pytest.raises(InputError, match=r"t\.csv:2:12: a deviation is a fraction from 0 on"):
        read_deviations(sheet(GOOD.replace("1.5", "-1")), CACHE, {"latency": "latency"})
    with pytest.raises(InputError, match="not a valid relative deviation"):
        same_everywhere(-0.1)


WRONG = [
    (
        GOOD.replace("shards", "shard"),
        "t.csv:1:1: there is no column 'shards' for the option of that name; did you mean 'shard'?\n"
        "  policy,size,shard,fast,latency\n  ^",
    ),
    (
        GOOD.replace("lfu", "lfo"),
        "t.csv:4:1: 'lfo' is not a setting of option 'policy'; did you mean 'lfu'?\n  lfo,256,4,true,0.75\n  ^",
    ),
    (
        GOOD.replace("lfu,256", "lfu,100"),
        "t.csv:4:5: '100' is not a setting of option 'size'; there are: 64, 256\n  lfu,100,4,true,0.75\n      ^",
    ),
    (
        GOOD.replace("lfu,256", "lfu,"),
        "t.csv:4:5: option 'size' is active here and has no setting; give it one\n  lfu,,4,true,0.75\n      ^",
    ),
    (
        GOOD.replace("0.75", "fast"),
        "t.csv:4:16: 'fast' is not a valid number; write it as in 0.25 or 1e-3; leave the cell empty where "
        "nothing was measured\n  lfu,256,4,true,fast\n                 ^",
    ),
    (
        GOOD.replace("0.75", "1@@2"),
        "t.csv:4:16: '' in '1@@2' is not a valid number; write it as in 0.25 or 1e-3; leave the cell empty where "
        "nothing was measured\n  lfu,256,4,true,1@@2\n                 ^",
    ),
    (
        GOOD + "lru,64,1,false,2\n",
        "t.csv:6:1: the configuration fast=false policy=lru shards=1 size=64 is there already, in line 2; number them "
        "in a column 'repetition', or choose by --where\n  lru,64,1,false,2\n  ^",
    ),
    (
        repeated("0,1", "1,2", "1,3"),
        "t.csv:4:12: the configuration fast=false policy=lru shards=1 size=64, repetition 1 is there already, in line "
        "3; give each run a repetition of its own, or choose by --where\n  lru,64,1,0,1,3\n             ^",
    ),
    (
        repeated("1.0,1", "1.0,2", "1.1,3", columns="revision"),
        "t.csv:4:12: the rows are of 2 values of revision: 1.0, 1.1; choose one, as in --where revision=1.0\n"
        "  lru,64,1,0,1.1,3\n             ^",
    ),
    (
        "policy,size,shards,fast,latency\nlru,64,1,1,1.5\n",
        "t.csv:2:1: no row meets the constraints of the space\n  lru,64,1,1,1.5\n  ^",
    ),
    (
        FEATURES.replace("1;1;0;0;64;4", "1;1;1;0;64;4"),
        "t.csv:3:5: option 'policy': lru, lfu are 1; let exactly one of them be 1\n  1;1;1;0;64;4;1;1.25\n      ^",
    ),
    (
        FEATURES.replace("1;1;0;0;64;4", "1;0;0;0;64;4"),
        "t.csv:3:3: option 'policy': none of lru, lfu, none is 1; let exactly one of them be 1\n"
        "  1;0;0;0;64;4;1;1.25\n    ^",
    ),
    (
        FEATURES.replace("1;1;0;0;64;4", "1;2;0;0;64;4"),
        "t.csv:3:3: '2' is neither 0 nor 1\n  1;2;0;0;64;4;1;1.25\n    ^",
    ),
    (
        FEATURES.replace("policy;lru;lfu;none", "polici;lru;lfu;non"),
        "t.csv:1:1: there is no column 'none' for that setting of option 'policy'; did you mean 'non'?\n"
        "  polici;lru;lfu;non;size;shards;fast;latency\n  ^",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_with_a_row_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        assembled(sheet(text), CACHE, (LATENCY,), None)
    assert str(caught.value) == message


def test_a_column_that_could_be_of_two_options_is_an_error() -> None:
    space = Space((Option("a", ("on", "off"), "on"), Option("b", ("off", "on"), "on")))
    with pytest.raises(InputError, match="'off' could be a setting of 'a' or of 'b'"):
        space_columns(sheet("on,off,m\n1,0,3\n"), space)
    assert space_columns(sheet("a,b,on,m\non,off,0,3\n"), space) == {"a": ("a",), "b": ("b",)}


def test_what_stands_in_the_cells_of_inactive_options_does_not_matter() -> None:
    read = assembled(sheet(GOOD.replace("none,,", "none,77,")), CACHE, (LATENCY,), None)
    assert read.run(NONE, 0, "t") == {"latency": 3.0}


def test_an_option_below_an_inactive_one_is_inactive() -> None:
    space = Space(
        (
            Option("c", ("x", "y"), "x", active_if=parse_formula("b == 'q'")),
            Option("b", ("p", "q"), "p", active_if=parse_formula("a")),
            Option("a", (False, True), default=False),
        )
    )
    read = assembled(sheet("a,b,c,m\n0,q,y,1\n1,p,y,2\n1,q,y,3\n"), space, (MetricColumn(Metric("m", "s"), "m"),), None)
    assert [str(c) for c in read.configurations] == ["a=false", "a=true b=p", "a=true b=q c=y"]


class TestMetric:
    def column(self, text: str, name: str | None = None, **given: str) -> MetricColumn:
        return metric_column(sheet(text), name, {"a"}, {"latency": Metric("latency", "ms")}, **given)  # type: ignore[arg-type]  # keywords of several types

    def test_the_only_one_is_taken(self) -> None:
        text = "a,always,flag,note,throughput,run\n1,7,0,x,5.5,1\n2,7,1,y,6.5,2\n"
        assert self.column(text) == MetricColumn(Metric("throughput", "1"), "throughput")

    def test_its_unit_is_given_or_written_or_known(self) -> None:
        assert self.column("a,latency\n1,2.5\n", "latency").metric.unit == "ms"
        assert self.column("a,latency (us)\n1,2.5\n", "latency") == MetricColumn(
            Metric("latency", "us"), "latency (us)"
        )
        assert self.column("a,latency (us)\n1,2.5\n", "latency (us)", unit="s").metric == Metric("latency", "s")
        assert self.column("a,metric latency\n1,2.5\n", "latency") == MetricColumn(
            Metric("latency", "ms"), "metric latency"
        )

    def test_errors_name_what_there_is(self) -> None:
        for text, name, message in [
            (
                "a,x,y\n1,2.5,3\n2,3.5,4\n",
                None,
                "1:3: several columns could be the metric; say which by --metric: x, y",
            ),
            ("a,x\n1,t\n", None, "1:1: the table has no numeric column other than its options"),
            ("a,latency\n1,2\n", "latenzy", "1:1: there is no column 'latenzy' for --metric; did you mean 'latency'?"),
            ("a,m\n1,2\n", "a", "1:1: the column 'a' is not a metric but an option, or says where rows come from"),
        ]:
            with pytest.raises(InputError) as caught:
                self.column(text, name)
            assert str(caught.value).splitlines()[0] == f"t.csv:{message}"


def test_a_space_is_inferred_from_columns() -> None:
    header = "flag,truth,level,share,mode,m,order,revision,fixed,\n"
    rows = (f"{i % 2},{bool(i % 2)},{8 - i % 3},{i % 2 / 4},{'zyx'[i % 3]},{i % 5},{i},1.0,7,{i}\n" for i in range(99))
    found = infer_space(sheet(header + "".join(rows)), ["m"])
    assert {option.name: option.settings for option in found.space.options} == {
        "flag": (False, True),
        "truth": (False, True),
        "level": (6, 7, 8),
        "share": (0.0, 0.25),
        "mode": ("z", "y", "x"),
    }
    assert dict(found.others) == {
        "m": "a metric",
        "order": "99 different values",
        "revision": "it says where a row comes from",
        "fixed": "always '7'",
        "": "it has no name",
    }
    measured = infer_space(sheet("a,b,m,n\n" + "".join(f"{i % 2},{i // 2},{i / 8},{i / 2}\n" for i in range(10))), [])
    assert measured.space.names == ("a", "b")
    assert found.configurations(sheet(header + "0,0,6,0,x,1,0,1,7,\n1,1,8,0,x,2,0,1,7,\n" * 2)) == 2


def test_no_space_can_be_inferred_without_options() -> None:
    with pytest.raises(InputError, match=r"t\.csv:1:1: no column of the table can be an option"):
        infer_space(sheet("m\n1\n"), [])
    with pytest.raises(InputError, match="there is no column 'n' for --metric"):
        infer_space(sheet("a,m\n0,1\n1,2\n"), ["n"])
