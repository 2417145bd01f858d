"""Task sets that cannot be run: each is refused with the place and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.cli import main
from hati.core import InputError
from hati.generate import TaskSetError, parse_task_set

WHOLE = """\
name: whole
machines: [one, two]
roles:
  - name: client
    machine: one
    task:
      do: sequence
      tasks:
        - {do: use, task: work}
        - do: parallel
          until: first
          tasks:
            - do: loop
              task: {do: cpu, kernel: spin, demand_ms: 1, name: spin, sensors: [gaps]}
            - {do: cpu, kernel: wait, demand_ms: 5}
        - {do: disk, operation: append_sync, bytes: 4096, file_bytes: 65536, name: disk, sensors: [response]}
        - {do: memory, access: chase, bytes: 32768, count: 100}
        - {do: network, peer: server, protocol: udp, pattern: ping_pong, bytes: 64, count: 10}
  - name: server
    machine: two
tasks:
  work:
    do: loop
    count: 3
    task: {do: cpu, kernel: sort, units: 10, name: sort, sensors: [cpu, response], cpus: [0], policy: fifo, priority: 1}
"""

BROKEN = {
    "empty": (WHOLE, "", "1:1", "a task set is a mapping; write keys such as `name:`"),
    "a list": (WHOLE, "- a\n", "1:1", "a task set is a mapping; write keys"),
    "an open quote": ("whole\n", "'whole\n", "26:1", "found unexpected end of stream; correct the text"),
    "a key twice": ("    count: 3", "    count: 3\n    count: 4", "25:5", "found duplicate key"),
    "an alias": ("task: work}", "task: *work}", "9:27", "the alias `*work`; write the task under `tasks:`"),
    "half a character": ("name: whole", r'name: "a\uD83D"', "1:7", r"'\ud83d' is half of a character; write the"),
    "a key that is a number": ("    count: 3", "    3: count", "24:5", "the key `3` is not text; write it in quotes"),
    "a name that is empty": ("name: whole", "name: ''", "1:7", "the task set has no name; give it a name"),
    "no machines": ("[one, two]", "[]", "2:11", "there are no machines; name the machines"),
    "machines in a word": ("[one, two]", "one", "2:11", "`machines` is 'one'; write a list"),
    "two machines with one name": (
        "[one, two]",
        "[one, two, one]",
        "2:22",
        "two machines have the name 'one'; give each",
    ),
    "two roles with one name": (
        "name: server",
        "name: client",
        "19:11",
        "two machine task sets have the name 'client'",
    ),
    "no roles": (WHOLE[WHOLE.index("roles") :], "roles: []\n", "3:8", "there are no machine task sets; add one"),
    "an unknown machine": ("machine: two", "machine: tow", "20:14", "there is no machine 'tow'; did you mean 'two'?"),
    "a machine left out": ("    machine: two\n", "", "19:5", "the key `machine` is missing; add `machine:`"),
    "an unknown key of a role": (
        "machine: two",
        "machine: two\n    host: x",
        "21:5",
        "unknown key `host`; there are: name",
    ),
    "a role without work": (WHOLE.splitlines()[17] + "\n", "", "18:5", "'server' has no task, and nobody sends to it"),
    "an unknown task": ("task: work}", "task: wrk}", "9:27", "there is no task 'wrk'; did you mean 'work'?"),
    "an unknown kind": ("do: memory", "do: memry", "17:16", "unknown `do`: memry; did you mean 'memory'?"),
    "no kind": ("{do: memory, ", "{", "17:11", "a task without `do`; add `do:` with one of sequence"),
    "an unknown key": ("units: 10", "unit: 10", "25:35", "unknown key `unit`; did you mean 'units'?"),
    "an unknown kernel": ("kernel: sort", "kernel: short", "25:29", "unknown `kernel`: short; did you mean 'sort'?"),
    "an unknown sensor": ("[cpu, response]", "[cpu, time]", "25:73", "unknown `sensors`: time; there are: response"),
    "an unknown policy": ("policy: fifo", "policy: fofi", "25:103", "unknown `policy`: fofi; there are: other, batch"),
    "a sensor without a name": ("name: sort, ", "", "25:55", "a task with sensors has no name; give the task a name"),
    "a sensor twice": ("[cpu, response]", "[cpu, cpu]", "25:67", "a sensor is listed twice; list each sensor once"),
    "gaps without a CPU load": (
        "[response]}",
        "[gaps]}",
        "16:99",
        "the gaps sensor needs a CPU load in the same thread",
    ),
    "one name for two tasks": (
        "name: spin",
        "name: sort",
        "25:52",
        "have the name 'sort'; give each a name of its own",
    ),
    "a negative duration": (
        "demand_ms: 5",
        "demand_ms: -5",
        "15:50",
        "-5 ms is not a demand; give 0.001 to 600,000 ms, which is 10 minutes",
    ),
    "a demand that no clock resolves": (
        "demand_ms: 5",
        "demand_ms: 0.0000001",
        "15:50",
        "1e-07 ms is not a demand; give 0.001 to 600,000 ms",
    ),
    "a demand longer than a run": (
        "demand_ms: 5",
        "demand_ms: 600001",
        "15:50",
        "600001 ms is not a demand; give 0.001 to 600,000 ms",
    ),
    "a duration longer than a run": (
        "count: 3",
        "duration_ms: 1.0e+30",
        "24:18",
        "1e+30 ms is not a duration; give 0.001 to 600,000 ms",
    ),
    "a gap longer than a run": ("[gaps]}", "[gaps], gap_us: 1.0e+30}", "14:96", "1e+30 µs is not the length of a gap"),
    "units beyond 64 bits": (
        "units: 10",
        "units: 18446744073709551617",
        "25:42",
        "18446744073709551617 units of work; give 0 to 1,000,000,000,000",
    ),
    "a loop beyond 64 bits": (
        "count: 3",
        "count: 18446744073709551617",
        "24:12",
        "a loop of 18446744073709551617 iterations; give 1 to 1,000,000,000,000",
    ),
    "accesses beyond 64 bits": (
        "count: 100",
        "count: 18446744073709551617",
        "17:60",
        "18446744073709551617 accesses; give 1 to 1,000,000,000,000",
    ),
    "operations beyond 64 bits": (
        "file_bytes: 65536",
        "file_bytes: 65536, count: 18446744073709551617",
        "16:85",
        "18446744073709551617 operations; give 1 to 1,000,000,000,000",
    ),
    "messages beyond 64 bits": (
        "bytes: 64, count: 10",
        "bytes: 64, count: 18446744073709551617",
        "18:92",
        "18446744073709551617 messages; give 1 to 1,000,000,000,000",
    ),
    "a duration in a word": ("demand_ms: 5", "demand_ms: long", "15:50", "`demand_ms` is 'long'; write a number"),
    "an endless duration": (
        "demand_ms: 5",
        "demand_ms: .inf",
        "15:50",
        "inf ms is not a demand; give 0.001 to 600,000 ms",
    ),
    "no demand": (", units: 10", "", "25:11", "a CPU load needs either a demand or a number of units; give"),
    "a demand and units": (
        "units: 10",
        "units: 10, demand_ms: 1",
        "25:11",
        "needs either a demand or a number of units",
    ),
    "units of waiting": (
        "wait, demand_ms: 5",
        "wait, units: 5",
        "15:46",
        "the kernel wait has no units; give `demand_ms`",
    ),
    "an endless loop": ("until: first", "until: all", "13:15", "an endless loop that nothing stops; give it `count`"),
    "an endless loop below a use": (
        "    count: 3\n",
        "",
        "9:11",
        "an endless loop that nothing stops; give it `count`",
    ),
    "a count and a duration": (
        "count: 3",
        "count: 3\n    duration_ms: 3",
        "25:18",
        "a loop has a count and a duration",
    ),
    "a loop of none": ("count: 3", "count: 0", "24:12", "a loop of 0 iterations; give 1 to 1,000,000,000,000"),
    "an interval that may stay wide": (
        "count: 3",
        "until: {task: sort, sensor: cpu, margin: 0.1}",
        "24:12",
        "an interval may never become narrow; limit the loop by `count` or `duration_ms`, too",
    ),
    "an interval of another task": (
        "count: 3",
        "count: 3\n    until: {task: sport, sensor: cpu, margin: 0.1}",
        "25:19",
        "the loop has no task 'sport' with sensors; did you mean 'sort'?",
    ),
    "an interval of a sensor that is missing": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: utilisation, margin: 0.1}",
        "25:33",
        "the task 'sort' has no sensor utilisation; add it to the `sensors` of sort",
    ),
    "an interval of a task in another thread": (
        WHOLE[WHOLE.index("    task: {do: cpu, kernel: sort") : -1],
        "    until: {task: sort, sensor: cpu, margin: 0.1}\n"
        "    task: {do: parallel, tasks: [{do: cpu, kernel: sort, units: 10, name: sort, sensors: [cpu]}]}",
        "25:19",
        "the loop has no task 'sort' with sensors; name a task of the loop that has sensors, and is not in a parallel",
    ),
    "an interval that is the whole mean": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cpu, margin: 1}",
        "25:46",
        "1 is not a margin; give a fraction of the mean, such as 0.02",
    ),
    "an interval of few observations": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cpu, margin: 0.1, least: 9}",
        "25:58",
        "an interval of 9 observations; give 10 to 1,000,000,000,000",
    ),
    "an interval of too much confidence": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cpu, margin: 0.1, confidence: 95}",
        "25:63",
        "95 is not a confidence; give one from 0.5 to below 1",
    ),
    "an interval without a margin": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cpu}",
        "25:12",
        "the key `margin` is missing; add `margin:`",
    ),
    "an interval with an unknown key": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cpu, marge: 0.1}",
        "25:38",
        "unknown key `marge`; did you mean 'margin'?",
    ),
    "an interval of an unknown sensor": (
        "count: 3",
        "count: 3\n    until: {task: sort, sensor: cup, margin: 0.1}",
        "25:33",
        "unknown `sensor`: cup; did you mean 'cpu'?",
    ),
    "a cycle": (
        "task: {do: cpu, kernel: sort",
        "task: {do: use, task: work}\n  other: {do: cpu, kernel: sort",
        "25:27",
        "tasks use each other in a cycle: work -> work; use another task",
    ),
    "an empty parallel": (
        WHOLE[WHOLE.index("            - do: loop") : WHOLE.index("        - {do: disk")],
        "            []\n",
        "12:11",
        "a parallel without tasks; add a task",
    ),
    "a missing peer": (
        "peer: server",
        "peer: servr",
        "18:31",
        "there is no machine task set 'servr'; did you mean 'server'?",
    ),
    "itself as peer": (
        "    machine: two\n",
        "    machine: two\n    task: {do: network, peer: server, protocol: tcp, pattern: stream, bytes: 1}\n",
        "21:31",
        "'server' sends to itself; name another machine task set as peer",
    ),
    "an unknown peer": (
        "    machine: two\n",
        "    machine: two\n    task: {do: network, peer: clint, protocol: tcp, pattern: stream, bytes: 1}\n",
        "21:31",
        "there is no machine task set 'clint'; did you mean 'client'?",
    ),
    "a stream of datagrams": ("ping_pong, bytes: 64", "stream, bytes: 64", "18:63", "UDP has no stream; use `pattern:"),
    "a message too large": ("bytes: 64", "bytes: 70000", "18:81", "a udp message of 70000 bytes; give 16 to 65507"),
    "a file smaller than a block": (
        "file_bytes: 65536",
        "file_bytes: 1",
        "16:71",
        "a file of 1 bytes has no block of 4096",
    ),
    "direct access by bytes": (
        "append_sync, bytes: 4096",
        "write, cache: direct, bytes: 100",
        "16:62",
        "direct access needs blocks of a multiple of 512 bytes; use a multiple, such as 4096",
    ),
    "appending at random": (
        "append_sync, ",
        "append_sync, order: random, ",
        "16:53",
        "appending is never random; leave",
    ),
    "a priority without a policy": (
        "policy: fifo, ",
        "",
        "25:105",
        "only fifo and rr have a priority; use `policy: fifo`",
    ),
    "fifo without a priority": (", priority: 1", "", "25:103", "fifo needs a priority; give one from 1 to 99"),
    "a CPU below 0": ("cpus: [0]", "cpus: [-1]", "25:90", "a CPU has a negative number; number CPUs from 0"),
    "code that does nothing": (
        "memory, access: chase, bytes: 32768, count: 100",
        "code, execute: ''",
        "17:31",
        "code that does nothing; write statements of C",
    ),
    "code with a wrong header": (
        "memory, access: chase, bytes: 32768, count: 100",
        'code, execute: x, headers: ["a.h>"]',
        "17:43",
        "'a.h>' is not a header; give a name such as sys/eventfd.h",
    ),
    "nobody has a task": (
        WHOLE[WHOLE.index("    task:\n") : WHOLE.index("  - name: server")],
        "",
        "3:1",
        "no machine task set has a task; give one a `task`",
    ),
    "everybody waits": (
        "    machine: one\n",
        "    machine: one\n    until: others\n",
        "3:1",
        "every machine task set waits for the others; leave `until: others` out of one",
    ),
}


def test_the_whole_one_is_none_of_them() -> None:
    assert len(BROKEN) >= 40
    assert [role.name for role in parse_task_set(WHOLE).roles] == ["client", "server"]


SEVERAL = """\
name: several
machine: [one]
roles:
  - name: a
    machine: 1
    until: never
    task:
      do: sequence
      tasks:
        - {do: cpu, kernel: short, unit: 10, nice: low}
        - 3
        - {do: loop, count: few, task: {do: disk, operation: write}}
        - {do: walk}
        - {do: cpu, kernel: sort, units: 10}
tasks:
  b: {do: use}
  c: {do: cpu, kernel: spin, demand_ms: -1}
"""


def test_all_errors_in_the_form_are_found_each_once() -> None:
    with pytest.raises(TaskSetError) as caught:
        parse_task_set(SEVERAL, "x.yaml")
    found = [f"{each.place}".removeprefix("x.yaml:") + f" {each.message}" for each in _all(caught.value)]
    assert sorted(found) == sorted(
        [
            "2:1 unknown key `machine`",
            "1:1 the key `machines` is missing",
            "5:14 `machine` is 1",
            "6:12 unknown `until`: never",
            "10:29 unknown `kernel`: short",
            "10:36 unknown key `unit`",
            "10:52 `nice` is 'low'",
            "11:11 `tasks` is 3",
            "12:29 `count` is 'few'",
            "12:40 the key `bytes` is missing",
            "13:16 unknown `do`: walk",
            "16:6 the key `task` is missing",
        ]
    )
    assert all(each.fix for each in _all(caught.value))


def test_all_errors_in_what_is_said_are_found_each_once() -> None:
    text = WHOLE.replace("units: 10", "units: -1").replace("demand_ms: 5", "demand_ms: -5")
    text = text.replace("peer: server", "peer: servr").replace("until: first", "until: all")
    with pytest.raises(TaskSetError) as caught:
        parse_task_set(text, "x.yaml")
    found = [f"{each.place.line if each.place else None} {each.message}" for each in _all(caught.value)]
    assert found == [
        "25 -1 units of work",
        "15 -5 ms is not a demand",
        "18 there is no machine task set 'servr'",
        "13 an endless loop that nothing stops",
        "19 'server' has no task, and nobody sends to it",
    ]


def _all(error: TaskSetError) -> tuple[TaskSetError, ...]:
    return (error, *error.others)


def test_what_uses_a_task_that_is_missing_is_not_judged() -> None:
    text = WHOLE.replace("task: work}", "task: wrk}").replace("until: first", "until: all")
    with pytest.raises(TaskSetError) as caught:
        parse_task_set(text)
    assert [each.message for each in _all(caught.value)] == ["there is no task 'wrk'"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_task_set_ends_the_command_with_2_its_place_and_a_fix(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, place, message = BROKEN[name]
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(WHOLE.replace(before, after))
    assert main(["probe", "run", "x.yaml"]) == 2
    said = capsys.readouterr()
    assert " ".join(said.err.split()).startswith(f"error: x.yaml:{place}: ")
    assert message in " ".join(said.err.split())
    assert not said.out
    assert not Path(".hati").exists()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_task_set_is_refused_with_its_place_and_a_fix(name: str) -> None:
    before, after, place, message = BROKEN[name]
    assert WHOLE.count(before) == 1, "the change is one place"
    with pytest.raises(InputError) as caught:
        parse_task_set(WHOLE.replace(before, after), "x.yaml")
    shown = " ".join(str(caught.value).split())
    assert message in shown
    assert shown.startswith(f"x.yaml:{place}: ")
    assert caught.value.fix
