"""Models are read as written, and what is wrong has its place."""

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from hati.core import InputError
from hati.prediction import ClosedWorkload, Law, LawKind, OpenWorkload, Resource, Scheduling
from hati.project import MODEL_SCHEMA_FILE, model_json_schema, parse_model, parse_rate

GOOD = """\
[resources.server]
cores = 4
[resources.disk]
policy = "fcfs"
speed = 2
overhead = "6.7%"

[components]
web.demands = { server = "20ms", disk = { mean = "1.5ms", law = "gamma", cv = 0.5 } }
web.next = { report = 0.25 }
report.demands = { server = "2s" }

[workloads.users]
rate = "500/min"
mix = { web = 0.9, report = 0.1 }
[workloads.clerks]
population = 20
think = "5s"
mix = { report = 1 }
"""
SCHEMA = Draft7Validator(model_json_schema())


def test_a_model_is_read() -> None:
    model = parse_model(GOOD, "m.toml")
    assert model.resources == (Resource("server", cores=4), Resource("disk", Scheduling.FCFS, 1, 2.0, 0.067))
    web = model.components[0]
    assert [demand.mean for demand in web.demands] == [0.02, 0.0015]
    assert web.demands[1].law == Law(LawKind.GAMMA, 0.5)
    assert web.following == (("report", 0.25),)
    assert model.workloads == (
        OpenWorkload("users", 500 / 60.0, (("web", 0.9), ("report", 0.1))),
        ClosedWorkload("clerks", 20, 5.0, (("report", 1.0),)),
    )


def test_the_published_schema_is_that_of_the_reader() -> None:
    published = Path(__file__).resolve().parents[2] / "docs" / "reference" / MODEL_SCHEMA_FILE
    assert json.loads(published.read_text()) == model_json_schema()


def test_the_schema_accepts_it() -> None:
    Draft7Validator.check_schema(model_json_schema())
    assert not list(SCHEMA.iter_errors(tomllib.loads(GOOD)))


@pytest.mark.parametrize(("text", "rate"), [("8", 8.0), ("8/s", 8.0), ("90/min", 1.5), ("3.6e3 / h", 1.0)])
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text.replace(" / ", "/")) == pytest.approx(rate)


BROKEN = [
    ("cores = 4", "cores = 0", ":2:9: cores: expected a whole number from 1 to 100,000, found the number 0; write 4"),
    ("cores = 4", "cores = -1", ":2:9: cores: expected a whole number from 1 to 100,000, found the number -1; write"),
    ("cores = 4", "cores = nan", ":2:9: cores: expected a whole number from 1 to 100,000, found the number nan; wr"),
    ("cores = 4", "cores = 100001", ":2:9: cores: expected a whole number from 1 to 100,000, found the number 10"),
    (
        "population = 20",
        "population = 0",
        ":17:14: population: expected a whole number from 1 to 1,000,000, found the numb",
    ),
    ("cores = 4", "cors = 4", ":2:1: unknown key 'cors'; did you mean"),
    (
        "cores = 4",
        "cores = 2.5",
        ":2:9: cores: expected a whole number from 1 to 100,000, found the number 2.5; write 4 for",
    ),
    ('"fcfs"', '"fifo"', ":4:10: policy: 'fifo' is none of ps, fcfs, delay"),
    ("speed = 2", "speed = -1", ":5:1: the speed of resource 'disk' is -1; give a number above 0"),
    ("speed = 2", "speed = 1e-300", ":5:1: the speed of resource 'disk' is 1e-300; give 1e-12 to 1e+12"),
    ('"20ms"', '"1e308s"', ":9:17: the demand of component 'web' at 'server' is 1e+308; give at most 1e+12"),
    ("cv = 0.5", "cv = 1e200", "the coefficient of variation of the demand of component 'web' at 'disk' is 1e+200"),
    ('"500/min"', '"1e300/s"', ":14:1: the rate of workload 'users' is 1e+300; give 1e-12 to 1e+12"),
    ('think = "5s"', 'think = "1e300s"', ":18:1: the think time of workload 'clerks' is 1e+300; give at most 1e+12"),
    ('"6.7%"', '"much"', ":6:12: overhead: 'much' is not a fraction"),
    ('"6.7%"', "6.7", ':6:12: overhead: 6.7 would make demands 7.7 times as long; write "6.7 %"'),
    ('"6.7%"', '"5"', ':6:12: overhead: 5 would make demands 6 times as long; write "5 %", or "500 %" if that is'),
    ('"20ms"', '"20"', ":9:26: '20' is not a time"),
    ('server = "20ms"', 'sever = "20ms"', ":9:17: there is no resource 'sever'; did you mean"),
    ("cv = 0.5", "cv = 0", ":9:79: cv: expected a number above 0"),
    ('law = "gamma", ', "", "cv is not for exponential times"),
    ("report = 0.25", "report = 1.25", ":10:14: 1.25 is not a fraction"),
    ("report = 0.25", "web = 1", ":10:5: a request that comes to component 'web' never ends"),
    ("report = 0.25", "reprot = 0.25", ":10:14: there is no component 'reprot'"),
    ('"500/min"', '"500/week"', ":14:8: '500/week' is not a rate"),
    ('"500/min"', "-3", ":14:1: the rate of workload 'users' is -3"),
    ("report = 0.1 }", "report = 0.2 }", ":15:1: the mix of workload 'users' adds up to 1.1"),
    ("population = 20\n", "", ":16:1: workload 'clerks' needs either a rate or a population"),
    ("population = 20", "population = 20\nrate = 3", "needs either a rate or a population"),
    ('think = "5s"', 'arrivals = "constant"', ":18:1: arrivals is not for a closed workload"),
    ("[resources.disk]", "[resource.disk]", "unknown key 'resource'"),
    ('report.demands = { server = "2s" }', "report.demands = {}", "component 'report' has no demands"),
    ("mix = { report = 1 }", "", "mix is missing"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_what_is_wrong_has_its_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        parse_model(GOOD.replace(old, new, 1), "m.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("m.toml:")


def test_an_overhead_in_percent_may_have_a_space_and_exceed_100() -> None:
    found = [parse_model(GOOD.replace("6.7%", text), "m.toml").resources for text in ("5 %", "150 %")]
    assert [each.overhead for resources in found for each in resources if each.overhead] == [0.05, 1.5]


@pytest.mark.parametrize("table", ["resources", "components", "workloads"])
def test_a_missing_table_is_named(table: str) -> None:
    lines = GOOD.splitlines(keepends=True)
    kept, keep = [], True
    for line in lines:
        if line.startswith("["):
            keep = not line.startswith(f"[{table}")
        if keep:
            kept.append(line)
    with pytest.raises(InputError, match=f"the model has no {table}"):
        parse_model("".join(kept), "m.toml")
