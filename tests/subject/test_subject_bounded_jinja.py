"""Templates reach nothing but their variables, and end."""

from __future__ import annotations

import pytest

from hati.core import ConfigurationFile, InputError
from hati.subject.files import render


def rendered(template: str, **variables: object) -> str:
    return render(ConfigurationFile("a.conf", template, "a.conf.j2"), variables)


def test_loops_and_their_variables_work_as_in_jinja() -> None:
    template = (
        "{% for x in xs %}{{ loop.index }}/{{ loop.length }}={{ x }}{{ ' ' if not loop.last }}{% else %}-{% endfor %}"
    )
    assert rendered(template, xs=["a", "b"]) == "1/2=a 2/2=b"
    assert rendered(template, xs=[]) == "-"
    nested = "{% for k, v in d.items() if v %}{% for i in range(v) %}{{ k }}{% endfor %}{% endfor %}"
    assert rendered(nested, d={"a": 2, "b": 0, "c": 1}) == "aac"


def test_macros_and_namespaces_work_as_in_jinja() -> None:
    template = (
        "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{% set n = namespace(sum=0) %}"
        "{% for i in range(4) %}{% set n.sum = n.sum + i * 2 %}{% endfor %}"
        "{{ twice(n.sum) }} {{ 2 ** 10 }} {{ '-' * 3 }}"
    )
    assert rendered(template) == "1212 1024 ---"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ x.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% for c in ''.__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
    ],
)
def test_python_itself_is_out_of_reach(template: str) -> None:
    with pytest.raises(InputError, match=r"a\.conf\.j2:1: template: .*(unsafe|undefined|is not safely)"):
        rendered(template, x=test_macros_and_namespaces_work_as_in_jinja)


BOMBS = {
    "loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "one range": "{% set r = range(99999) %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}",
    "calls": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "repetition": "{{ 'x' * 10000000000 }}",
    "repetition of a list": "{{ [0] * 10000000000 }}",
    "power": "{{ 9 ** 999999999 }}",
    "length": "{% for a in range(20) %}{{ 'x' * 1000000 }}{% endfor %}",
    "range": "{{ range(10 ** 9) | list }}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_never_end_is_refused(bomb: str) -> None:
    with pytest.raises(InputError, match=r"a\.conf\.j2(:1)?: template: "):
        rendered(BOMBS[bomb])


def test_each_file_has_steps_of_its_own() -> None:
    template = "{% for a in range(60000) %}{% for b in range(10) %}{% endfor %}{% endfor %}end"
    assert [rendered(template) for _ in range(3)] == ["end"] * 3
