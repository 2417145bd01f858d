"""Envelopes: what is refused before anything of it is unpacked or run, and in which words."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volunteer_server import Owner, Script, archive, job

from hati.volunteer.envelope import CheckedEnvelope, opened
from hati.volunteer.files import EnvelopeError

NOW = 1_000.0


def made(owner: Owner, jobs: list[dict[str, Any]] | None = None, **about: Any) -> dict[str, Any]:
    envelope = Script(owner).batch({"a": "1"}, [job("t")] if jobs is None else jobs)
    artefact = archive({"a": "1"})
    digest = hashlib.sha256(artefact).hexdigest()
    about = {"artefact": {"sha256": digest, "bytes": len(artefact)}, "release": owner.release(artefact, **about)}
    return {**envelope, **about, "expires": NOW + 60.0}


def open_(owner: Owner, data: object) -> CheckedEnvelope:
    return opened(data, "m1", base64.b64decode(owner.public), NOW)


def test_a_signed_envelope_is_opened() -> None:
    owner = Owner()
    bindings = [{"option": "level", "argument": "-l {}", "env": None, "build": True, "setup": [["x", "{}"]]}]
    about = {"output": "{work}/out", "env": [["A", "{size}"]], "bindings": bindings, "files": ["conf/{size}"]}
    files = [{"path": "conf/{size}", "text": "level = 1"}]
    found = open_(owner, made(owner, [job("t", files=files)], **about))
    statement = found.statement
    assert (statement.command, statement.timeout, statement.output) == (("true",), 10.0, "{work}/out")
    assert (statement.env, statement.bindings[0].setup) == ((("A", "{size}"),), (("x", "{}"),))
    assert found.jobs[0].files == (("conf/{size}", "level = 1"),)


def change(**fields: Any) -> Callable[[Owner, dict[str, Any]], dict[str, Any]]:
    return lambda _, envelope: {**envelope, **fields}


def changed_statement(_: Owner, envelope: dict[str, Any]) -> dict[str, Any]:
    text = envelope["release"]["statement"].replace('["true"]', '["evil"]')
    assert "evil" in text
    return {**envelope, "release": {**envelope["release"], "statement": text}}


def signed_by_another(_: Owner, envelope: dict[str, Any]) -> dict[str, Any]:
    return {**envelope, "release": made(Owner())["release"]}


def other_job(**about: Any) -> Callable[[Owner, dict[str, Any]], dict[str, Any]]:
    return lambda _, envelope: {**envelope, "jobs": [{**job("t"), **about}]}


def other_statement(**about: Any) -> Callable[[Owner, dict[str, Any]], dict[str, Any]]:
    return lambda owner, _: made(owner, **about)


REFUSED = {
    "the envelope is meant for another machine": change(audience="m2"),
    "the envelope has expired": change(expires=NOW),
    "has the format 'hati-envelope-2'": change(format="hati-envelope-2"),
    "names another artefact": change(artefact={"sha256": "0" * 64, "bytes": 1}),
    "the envelope has 0 jobs": change(jobs=[]),
    "`release` is not a JSON object": change(release=[]),
    "the envelope has no valid `expires`": change(expires="tomorrow"),
    "is not signed with the key": changed_statement,
    "is not signed with the key that": signed_by_another,
    "level = 3 is not a signed setting": other_job(settings={"level": "3"}),
    "other = 1 is not a signed setting": other_job(settings={"other": "1"}),
    "size = ; rm -rf / is not a signed value": other_job(values={"size": "; rm -rf /"}),
    "repetition = $(id) is not a signed value": other_job(values={"repetition": "$(id)"}),
    "work = /home is not a signed value": other_job(values={"work": "/home"}),
    "env:HOME = / is not a signed value": other_job(values={"env:HOME": "/"}),
    "the file ../x is not one of the signed statement": other_job(files=[{"path": "../x", "text": ""}]),
    "a job has no valid `task`": other_job(task=None),
    "the signed statement has no command": other_statement(command=[]),
    "the signed statement has no command, no possible timeout": other_statement(timeout=-1.0),
    "the path '../x' leads out": other_statement(within="../x"),
    "has the format 'hati-release-2'": other_statement(format="hati-release-2"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_it_is_refused_in_one_line(reason: str) -> None:
    owner = Owner()
    with pytest.raises(EnvelopeError) as refused:
        open_(owner, REFUSED[reason](owner, made(owner)))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("command", "build", "bindings", "settings", "values", "files", "env", "timeout", "within", "output")
OWNER = Owner()
WHOLE = made(OWNER)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_no_value_of_any_field_ends_the_client(data: st.DataObject) -> None:
    envelope = json.loads(json.dumps(WHOLE))
    place: Any = envelope
    for _ in range(data.draw(st.integers(0, 2))):
        inner = [
            each for each in (place.values() if isinstance(place, dict) else place) if isinstance(each, dict | list)
        ]
        if inner:
            place = data.draw(st.sampled_from(inner))
    if isinstance(place, dict) and place:
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(VALUES)
    elif isinstance(place, list):
        place.append(data.draw(VALUES))
    with suppress(EnvelopeError):
        open_(OWNER, envelope)


@given(st.sampled_from(FIELDS), VALUES)
@settings(max_examples=30, deadline=None)
def test_neither_does_a_statement_that_is_signed(name: str, value: Any) -> None:
    with suppress(EnvelopeError):
        open_(OWNER, made(OWNER, **{name: value}))
