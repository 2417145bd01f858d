"""Jobs: whole, the same after a journey, and told apart by their digests."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import (
    AUTO,
    Benchmark,
    Better,
    Binding,
    Configuration,
    ConfigurationFile,
    InputError,
    Job,
    Metric,
    Place,
    Reader,
    ReaderKind,
    Ready,
    Reset,
    ResetBefore,
    SampleFormat,
    Server,
    Setting,
    Task,
    Workload,
    replace,
)
from hati.core.benchmark import CounterSource

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text("abcxyz_é", min_size=1, max_size=4)
settings = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
assigned = st.dictionaries(names, settings, max_size=4)
words = st.lists(texts, min_size=1, max_size=3).map(tuple)
commands = st.lists(words, max_size=2).map(tuple)
cpus = st.lists(st.integers(0, 63), max_size=2).map(tuple)
seconds = st.floats(0.001, 1e6)
pairs = st.lists(st.tuples(names, texts), max_size=2).map(tuple)
metrics = st.builds(Metric, names, texts, st.sampled_from(Better))
places = st.builds(Place, texts, st.none() | st.integers(1), st.none() | st.integers(1), st.none() | texts)
readers = st.builds(Reader, st.sampled_from([*map(str, ReaderKind), *map(str, SampleFormat), "theirs"]), pairs, pairs)
servers = st.builds(
    Server, words, st.builds(Ready, st.booleans(), st.none() | texts, seconds), cpus, commands, st.none() | texts
)
bindings = st.builds(
    Binding, names, st.none() | texts, st.none() | texts, st.booleans(), commands, st.none() | commands
)
benchmarks = st.builds(
    Benchmark,
    st.just("b"),
    words,
    readers,
    st.lists(metrics, min_size=1, max_size=2).map(tuple),
    commands,
    commands,
    commands,
    st.none() | servers,
    st.lists(st.builds(ConfigurationFile, texts, texts, texts, texts), max_size=2).map(tuple),
    seconds,
    st.integers(0, 9) | st.just(AUTO),
    cpus,
    assigned.map(Workload),
    st.lists(bindings, max_size=2).map(tuple),
    st.none() | texts,
    pairs,
    commands,
    pairs,
    st.none() | texts,
    st.none() | st.builds(Reset, commands, st.sampled_from(ResetBefore)),
    st.none() | st.sampled_from(CounterSource),
    st.lists(st.tuples(names, places), max_size=2).map(tuple),
    st.none() | places,
    st.lists(st.tuples(st.integers(0, 9), places), max_size=2).map(tuple),
)
tasks = st.builds(
    Task, texts, texts, st.just("b"), assigned.map(Configuration), texts, assigned.map(Workload), st.integers(0)
)
jobs = st.builds(Job, tasks, benchmarks, texts)


@given(jobs)
def test_a_job_comes_back_as_it_was(job: Job) -> None:
    back = Job.from_json(job.to_json())
    assert back == job
    assert (back.digest, back.task.id, back.benchmark.definition) == (job.digest, job.task.id, job.benchmark.definition)
    assert back.benchmark.metric_places == job.benchmark.metric_places
    assert back.benchmark.warmup_place == job.benchmark.warmup_place
    assert back.benchmark.cpu_places == job.benchmark.cpu_places
    assert (back.task.workload.declared, back.benchmark.workload.declared) == (
        job.task.workload.declared,
        job.benchmark.workload.declared,
    )


@given(jobs)
def test_its_json_is_canonical(job: Job) -> None:
    text = job.to_json()
    assert Job.from_json(text).to_json() == text
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def a_job(**settings: Setting) -> Job:
    benchmark = Benchmark("b", ("true",), Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),))
    return Job(Task("s", "d", "b", Configuration(settings), "r", Workload({"z": 1, "a": 2}), 0), benchmark, "sources")


def test_one_and_true_are_told_apart_on_the_way() -> None:
    for setting in (1, 1.0, True, "1", -0.0, 10**30):
        back = Job.from_json(a_job(o=setting).to_json())
        assert type(back.task.configuration["o"]) is type(setting)
        assert math.copysign(1.0, float(back.task.configuration["o"])) == math.copysign(1.0, float(setting))


def test_a_digest_is_of_all_that_decides_what_runs() -> None:
    job = a_job(o=1)
    others = (
        replace(job, task=replace(job.task, repetition=1)),
        replace(job, benchmark=replace(job.benchmark, timeout=1.0)),
        replace(job, benchmark=replace(job.benchmark, programs=(("jvm", "/usr/bin/java"),))),
        replace(job, sources="other"),
    )
    assert len({job.digest, *(other.digest for other in others)}) == 5
    assert [other.task.id == job.task.id for other in others] == [False, True, True, True]


def test_neither_messages_nor_the_order_of_declaration_make_another_job() -> None:
    job = a_job()
    place = Place("hati.toml", 3)
    places = {"warmup_place": place, "metric_places": (("wall_time", place),), "cpu_places": ((1, place),)}
    elsewhere = replace(job, benchmark=replace(job.benchmark, **places))
    declared = replace(job, task=replace(job.task, workload=Workload({"a": 2, "z": 1})))
    assert job == elsewhere == declared
    assert job.digest == elsewhere.digest == declared.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not the JSON of a job: Input data was truncated"),
        ("[]", "not the JSON of a job: Expected `object`"),
        ("{}", "missing required field `task`"),
        (a_job().to_json().replace('"b"', '"c"', 1), "a task of 'b' has the definition of 'c'"),
        (a_job().to_json().replace('["true"]', "[]"), "has an empty command"),
        (a_job().to_json().replace('["z",1]', '["z",null]'), "Expected `bool \\| int \\| float \\| str`"),
        (a_job().to_json().replace('["z",1]', '["z",NaN]'), "JSON is malformed: invalid character"),
    ],
)
def test_what_is_not_a_job_is_said(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Job.from_json(text)
