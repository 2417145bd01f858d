"""Whatever is wrong with a file is told with its place; nothing gives a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from malformed import FIXTURES, MALFORMED, Malformed, own

from hati.core import InputError, SampleFormat
from hati.subject.samples import ImportedSamples, read_samples

WHOLE = sorted(path for path in FIXTURES.iterdir() if path.suffix in {".json", ".txt", ".xml", ".csv", ".js"})


@pytest.mark.parametrize("file", MALFORMED, ids=lambda file: file.name)
def test_malformed_files_are_refused_with_place_and_reason(file: Malformed, tmp_path: Path) -> None:
    path = tmp_path / file.name
    path.write_bytes(file.data)
    with pytest.raises(InputError) as caught:
        read_samples(path)
    message = str(caught.value)
    assert message.startswith(f"{path}{file.place}")
    assert file.reason in message
    assert len(message.splitlines()) <= 3
    assert len(message) < 1000


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file of one of the tools, some bytes of which were changed, taken out, or repeated."""
    data = draw(st.sampled_from([own(), *(path.read_bytes() for path in WHOLE)]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        replacement = draw(
            st.sampled_from([b"", b"null", b"-1", b"[", b"}", b'"', b"NaN", b"1e400", b"\xff", b"{}", b"true", b","])
            | st.binary(max_size=4)
        )
        data = data[:start] + replacement + data[end:]
    return data


def outcome(data: bytes, folder: Path, written_as: SampleFormat | None = None) -> ImportedSamples | InputError:
    path = folder / "file"
    path.write_bytes(data)
    try:
        return read_samples(path, written_as)
    except InputError as error:
        return error


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated())
def test_mutations_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    outcome(data, tmp_path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated() | st.binary(max_size=200), st.sampled_from(SampleFormat))
def test_files_under_a_wrong_format_are_read_or_refused(tmp_path: Path, data: bytes, written_as: SampleFormat) -> None:
    outcome(data, tmp_path, written_as)
