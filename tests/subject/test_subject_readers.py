from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import AUTO, Benchmark, InputError, Metric, Reader, ReaderKind, Resources, replace
from hati.subject.readers import check_reader, read, unsettled
from hati.subject.readings import parse_expression, parse_path, read_lines

NOTHING = Resources(2.0, 1.0, 0.5, 3 * 2**20, 1, 2, 0.0)


def benchmark(
    kind: ReaderKind = ReaderKind.HATI,
    patterns: tuple[tuple[str, str], ...] = (),
    warmup: int = 0,
    metrics: tuple[Metric, ...] = (Metric("latency", "s"),),
) -> Benchmark:
    return Benchmark("b", ("true",), Reader(kind, patterns), metrics, warmup=warmup)


def lines(*readings: object) -> bytes:
    return b"".join(json.dumps(reading).encode() + b"\n" for reading in readings)


def values(output: bytes, **about: object) -> list[float]:
    return list(read(benchmark(**about), output, NOTHING)[0].values)  # type: ignore[arg-type]  # shortens the tests


class TestHati:
    def test_order_is_kept_and_other_lines_are_ignored(self) -> None:
        output = b"starting {\n" + lines({"metric": "latency", "values": [3, 1]}) + b"{not json}\n\xff\xfe\n"
        output += lines({"other": 1}, [1], {"metric": "latency", "value": 2.5}, {"metric": "other", "value": 1})
        assert values(output) == [3.0, 1.0, 2.5]

    @pytest.mark.parametrize("before", ["INFO sent ", ">> POST /put ", "data: "])
    def test_a_line_of_a_log_is_no_reading(self, before: str) -> None:
        output = before.encode() + lines({"metric": "cpu"}) + lines({"metric": "latency", "value": 1.0})
        assert values(output) == [1.0]

    def test_marked_and_fixed_warmup(self) -> None:
        output = lines({"metric": "latency", "warmup": True, "values": [9, 8]}, {"metric": "latency", "values": [1, 2]})
        assert read(benchmark(), output, NOTHING)[0].warmup == 2
        assert read(benchmark(warmup=1), output, NOTHING)[0].warmup == 2
        assert read(benchmark(warmup=3), output, NOTHING)[0].warmup == 3
        with pytest.raises(InputError, match=r"4 observations and 4 of warm-up.*lower `warmup`"):
            read(benchmark(warmup=4), output, NOTHING)

    def test_warmup_is_found(self) -> None:
        told = replace(benchmark(), warmup=AUTO)
        values = [2.0] * 12 + [1.0, 1.01] * 30
        output = lines({"metric": "latency", "values": values})
        found = read(told, output, NOTHING)
        assert found[0].warmup == 12
        assert unsettled(told, found) == ()
        assert read(told, lines({"metric": "latency", "value": 1}), NOTHING)[0].warmup == 0
        assert unsettled(told, read(told, lines({"metric": "latency", "value": 1}), NOTHING)) == ()

    def test_warmup_that_is_not_over_is_remarked(self) -> None:
        told = replace(benchmark(), warmup=AUTO)
        marked = {"metric": "latency", "warmup": True, "values": [9, 8]}
        found = read(told, lines(marked, {"metric": "latency", "values": [2, 3]}), NOTHING)
        assert found[0].warmup == 2
        (remark,) = unsettled(told, found)
        assert remark.startswith("warm-up of 'latency' is not known to be over: 4 observations")
        rising = read(told, lines({"metric": "latency", "values": list(range(100, 200))}), NOTHING)
        assert rising[0].warmup == 0
        assert "drifts" in unsettled(told, rising)[0]
        assert unsettled(benchmark(), rising) == ()

    def test_one_figure_per_run_has_no_warmup_but_one_observation_has(self) -> None:
        assert read(benchmark(warmup=3), lines({"metric": "latency", "value": 1}), NOTHING)[0].warmup == 0
        with pytest.raises(InputError, match="1 observation and 3"):
            read(benchmark(warmup=3), lines({"metric": "latency", "values": [1]}), NOTHING)

    def test_units_are_converted(self) -> None:
        output = lines({"metric": "latency", "unit": "ms", "values": [1500]})
        observations = read(benchmark(), output, NOTHING)[0]
        assert (observations.unit, list(observations.values)) == ("s", [1.5])

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ('{"metric": "latency", "value": NaN}', "standard output:1.*NaN is not a valid number"),
            ('{"metric": "latency", "values": [1, Infinity]}', "Infinity is not a valid number"),
            ('{"metric": "latency", "value": 1e999}', "inf, which is not a finite number"),
            ('{"metric": "latency", "value": -0.5}', r"negative time, -0\.5 s"),
            ('{"metric": "latency", "value": true}', "True, which is not a number"),
            ('{"metric": "latency", "values": ["1"]}', "'1', which is not a number"),
            ('{"metric": "latency", "values": [[1]]}', "a list, which is not a number"),
            ('{"metric": "latency", "values": 1}', "`values` of 'latency' is 1, not a list"),
            ('{"metric": "latency", "values": []}', "no observation of 'latency'"),
            ('{"metric": "latency", "value": 1, "values": [1]}', "either `value` or `values`"),
            ('{"metric": "latency"}', "either `value` or `values`"),
            ('{"metric": "latency", "value": 1, "unit": 3}', "`unit` of 'latency' is 3, not a text"),
            ('{"metric": "latency", "value": 1, "unit": "MB"}', "memory.*time.*correct `unit`"),
            ('{"metric": "latency", "value": 1, "warmup": 1}', "not true or false"),
            ('{"metric": "latency", "value": 1, "warmup": true}', "none is left"),
            ('{"metric": ["latency"], "value": 1}', "`metric` is a list, not a name"),
            ('{"metric": "latency", "values": [0.1, 0.', "standard output:1: a reading that is not valid JSON"),
            ('{"metric": "latency", "value": ' + "[" * 100_000, "nested too deeply"),
            ('{"metric": "latency", "value": 1' + "0" * 5000 + "}", "not valid JSON: Exceeds the limit"),
            ('{"metric": "latency", "value": 1' + "0" * 400 + "}", "too large"),
            ('{"metric": "throughput", "value": 1}', "the output has no metric 'latency', only 'throughput'"),
            ("fine", "finds nothing in it"),
            ("", "finds nothing in it"),
        ],
    )
    def test_nonsense_is_named(self, line: str, words: str) -> None:
        with pytest.raises(InputError, match=words):
            values(line.encode())

    def test_a_metric_of_the_process_names_its_reader(self) -> None:
        with pytest.raises(InputError, match=r"no metric 'wall_time', only 'size'.*reader = .process"):
            values(lines({"metric": "size", "value": 1}), metrics=(Metric("wall_time", "s"),))

    def test_the_line_is_named(self) -> None:
        with pytest.raises(InputError, match="standard output:3:"):
            values(b'a\n\n{"metric": "latency", "value": null}\n')

    def test_a_negative_number_that_is_no_time_is_fine(self) -> None:
        output = lines({"metric": "drift", "value": -1})
        assert values(output, metrics=(Metric("drift", "mm"),)) == [-1.0]


class TestProcess:
    def test_all_metrics_in_the_units_asked_for(self) -> None:
        metrics = (Metric("wall_time", "ms"), Metric("cpu_time", "s"), Metric("peak_memory", "MiB"))
        found = read(benchmark(ReaderKind.PROCESS, metrics=metrics, warmup=5), b"", NOTHING)
        assert [(o.metric, o.unit, o.mean, o.warmup) for o in found] == [
            ("wall_time", "ms", 2000.0, 0),
            ("cpu_time", "s", 1.5, 0),
            ("peak_memory", "MiB", 3.0, 0),
        ]

    @pytest.mark.parametrize(
        ("metric", "words"), [(Metric("latency", "s"), "it has: wall_time"), (Metric("wall_time", "MB"), "memory")]
    )
    def test_what_can_never_be_read_is_found_before(self, metric: Metric, words: str) -> None:
        with pytest.raises(InputError, match=words):
            check_reader(benchmark(ReaderKind.PROCESS, metrics=(metric,)))


class TestJson:
    document = json.dumps(
        {"results": [{"latency": 1}, {"latency": 2}], "all": [3, 4], "one": 5, "a.b": {"": 6}}
    ).encode()

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("results[*].latency", [1, 2]),
            ("results[-1].latency", [2]),
            ("all", [3, 4]),
            ("all[*]", [3, 4]),
            ("all[0]", [3]),
            ("one", [5]),
            ('["a.b"][""]', [6]),
        ],
    )
    def test_paths(self, path: str, expected: list[float]) -> None:
        assert values(self.document, kind=ReaderKind.JSON, patterns=(("latency", path),)) == expected

    def test_warmup_is_for_lists(self) -> None:
        def warmed(path: str) -> int:
            about = benchmark(ReaderKind.JSON, (("latency", path),), warmup=1)
            return read(about, self.document, NOTHING)[0].warmup

        assert (warmed("all"), warmed("one")) == (1, 0)

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("results.latency", "no 'latency' in a list"),
            ("all[2]", r"no \[2\] in a list"),
            ("one[*]", r"no \[\*\] in 5"),
            ("missing", "no 'missing' in the keys 'results'"),
            ("results", "an object, which is not a number"),
        ],
    )
    def test_a_path_that_leads_nowhere(self, path: str, words: str) -> None:
        with pytest.raises(InputError, match=words):
            values(self.document, kind=ReaderKind.JSON, patterns=(("latency", path),))

    @pytest.mark.parametrize("path", ["", ".", "a..b", "a[", "a[x]", "a]", ".a.", "a[*"])
    def test_what_is_no_path(self, path: str) -> None:
        with pytest.raises(InputError, match="is not a valid path"):
            parse_path(path)
        with pytest.raises(InputError, match="is not a valid path"):
            check_reader(benchmark(ReaderKind.JSON, (("latency", path),)))

    @pytest.mark.parametrize(
        ("output", "words"),
        [
            (b"", "not JSON"),
            (b"[" * 100_000, "nested too deeply"),
            (b"1" * 5000, "not JSON"),
            (b'{"one": NaN}', "finite"),
        ],
    )
    def test_no_document(self, output: bytes, words: str) -> None:
        with pytest.raises(InputError, match=words):
            values(output, kind=ReaderKind.JSON, patterns=(("latency", "one"),))

    def test_a_metric_without_a_path(self) -> None:
        with pytest.raises(InputError, match="give the metric a path"):
            check_reader(benchmark(ReaderKind.JSON))


class TestRegex:
    def test_all_matches_in_order(self) -> None:
        output = b"took 3.5 ms\ntook 1e1 ms\nother 4\n"
        assert values(output, kind=ReaderKind.REGEX, patterns=(("latency", r"^took (\S+) ms$"),)) == [3.5, 10.0]

    def test_one_match_is_one_figure(self) -> None:
        about = benchmark(ReaderKind.REGEX, (("latency", r"took (\S+)"),), warmup=3)
        assert read(about, b"took 3", NOTHING)[0].warmup == 0

    @pytest.mark.parametrize(
        ("output", "words"),
        [
            (b"a\ntook nan", "standard output:2.*'nan', which is not a number"),
            (b"", "its pattern matches nothing"),
            (b"took 1_0", "not a number"),
        ],
    )
    def test_no_number(self, output: bytes, words: str) -> None:
        with pytest.raises(InputError, match=words):
            values(output, kind=ReaderKind.REGEX, patterns=(("latency", r"took (\S+)"),))

    @pytest.mark.parametrize(
        ("expression", "words"),
        [("took", "has 0 groups"), ("(a)(b)", "has 2 groups"), ("(", "not a valid regular expression")],
    )
    def test_what_is_no_expression(self, expression: str, words: str) -> None:
        with pytest.raises(InputError, match=words):
            parse_expression(expression)
        with pytest.raises(InputError, match=words):
            check_reader(benchmark(ReaderKind.REGEX, (("latency", expression),)))


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "a"]), inner, max_size=2),
    max_leaves=5,
)
_READING = st.fixed_dictionaries(
    {"metric": st.just("latency") | _JSON}, optional={"value": _JSON, "values": _JSON, "unit": _JSON, "warmup": _JSON}
)
_OUTPUT = st.binary() | st.lists(st.binary(max_size=9) | st.builds(lambda r: json.dumps(r).encode(), _READING)).map(
    b"\n".join
)
_BENCHMARKS = st.sampled_from(
    [
        benchmark(),
        benchmark(warmup=1),
        benchmark(ReaderKind.JSON, (("latency", "value"),)),
        benchmark(ReaderKind.JSON, (("latency", "values[*].a"),)),
        benchmark(ReaderKind.REGEX, (("latency", r"(\d*)"),)),
    ]
)


@given(_BENCHMARKS, _OUTPUT)
def test_any_output_is_read_or_refused(about: Benchmark, output: bytes) -> None:
    try:
        found = read(about, output, NOTHING)
    except InputError:
        return
    assert [o.metric for o in found] == ["latency"]
    assert np.all(np.isfinite(found[0].values))
    assert found[0].values.min() >= 0
    assert 0 <= found[0].warmup < found[0].values.size


@given(st.lists(st.floats(0, 1e100), min_size=1))
def test_what_was_printed_is_read_back_exactly(printed: list[float]) -> None:
    assert values(lines({"metric": "latency", "values": printed})) == printed


def test_lines_of_one_metric_are_converted_together() -> None:
    lines = "".join(f'{{"metric": "time", "value": {number}.5, "unit": "s"}}\n' for number in range(10_000))
    (reading,) = read_lines(lines.encode())
    assert reading.values.tolist() == [number + 0.5 for number in range(10_000)]
    assert reading.place_of(9_999).line == 10_000
