"""Templates reach nothing but their variables, and end."""

from __future__ import annotations

import pytest

from hati.core import ConfigurationFile, InputError
from hati.subject.templates import render


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


DOUBLING = "{{% set n = namespace(x='x') %}}{{% for i in range(60) %}}{}{{% endfor %}}{{{{ n.x | string | length }}}}"
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
    "concatenation": DOUBLING.format("{% set n.x = n.x ~ n.x %}"),
    "sum": DOUBLING.format("{% set n.x = n.x + n.x %}"),
    "list": DOUBLING.format("{% set n.x = [n.x, n.x] | sum(start=[]) %}").replace("'x'", "[0]"),
    "extended list": DOUBLING.format("{% set _ = n.x.extend(n.x) %}").replace("'x'", "[0]"),
    "block": DOUBLING.format("{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}"),
    "filtered block": DOUBLING.format("{% set n.x | upper %}{{ n.x }}{{ n.x }}{% endset %}"),
    "product": DOUBLING.format("{% set n.x = n.x * n.x %}").replace("'x'", "3"),
    "filter's width": "{{ 'x' | center(10000000000) }}",
    "mapped filter": "{{ ['x'] | map('center', 10000000000) | first }}",
    "method's width": "{{ 'x'.ljust(10000000000) }}",
    "replacement": "{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}",
    "joined": "{{ ([''] * 1000000) | join('y' * 1000000) }}",
    "format": "{{ '{:10000000000}'.format(1) }}",
    "percent": "{{ '%10000000000d' % 1 }}",
    "star": "{{ '%*d' | format(10000000000, 1) }}",
    "bytes": "{{ (1).to_bytes(10000000000, 'big') }}",
    "shared": "{{ (['x' * 9999999] * 9999) | join }}",
    "shared and printed": "{{ ['x' * 9999999] * 9999 }}",
    "shared and nested": "{% set l = ['x' * 9999] * 999 %}{{ ([l] * 999) | string | length }}",
    "long concatenation": "{% set s = 'x' * 9999999 %}{{ s ~ s ~ s ~ s ~ s ~ s ~ s }}",
    "sum of lists": "{% set l = [0] * 99999 %}{{ ([l] * 9999) | sum(start=[]) | length }}",
    "captured output": "{% set s = 'x' * 999999 %}{% set b %}{% for i in range(9999) %}{{ s }}{% endfor %}{% endset %}",
    "captured text": "{% set b %}{% for i in range(99999) %}" + "x" * 9999 + "{% endfor %}{% endset %}{{ b | length }}",
    "many formats": "{{ ('%999999d' * 10000) % ((1,) * 10000) }}",
    "precision": "{{ '%.9999999f' % 1.5 ~ '%.9999999f' % 1.5 ~ '%.99999999f' % 1.5 }}",
    "recursive loop": "{% for i in range(9) recursive %}{{ loop(range(99999)) }}{% endfor %}",
    "sums of ranges": "{% for i in range(99999) %}{{ range(99999) | sum }}{% endfor %}",
    "many": "{% set l = [] %}{% for i in range(9999) %}{% set _ = l.append('x' * 9999999) %}{% endfor %}",
}
SLOW = dict.fromkeys(("calls", "extended list", "list"), pytest.mark.acceptance)


@pytest.mark.parametrize("bomb", [pytest.param(bomb, marks=SLOW.get(bomb, ())) for bomb in BOMBS])
def test_what_would_never_end_is_refused(bomb: str) -> None:
    with pytest.raises(InputError, match=r"a\.conf\.j2(:1)?: template: "):
        rendered(BOMBS[bomb])


def test_large_numbers_and_what_filters_make_of_them_are_no_bombs() -> None:
    template = (
        "{{ memory | default(5000000) }} {{ '%d' % memory }} {{ '%08.3f' | format(1.5) }} {{ 'a' ~ memory ~ true }} "
        "{{ '%s' % 'size:99999999' }} "
        "{{ xs | map('upper') | join(',') }} {{ 'ab' | center(6) | trim }} {% set t | upper %}x{% endset %}{{ t }}"
    )
    assert rendered(template, memory=20_000_000, xs=["a", "b"]) == (
        "20000000 20000000 0001.500 a20000000True size:99999999 A,B ab X"
    )


def test_each_file_has_steps_of_its_own() -> None:
    template = "{% for a in range(20000) %}{% for b in range(10) %}{% endfor %}{% endfor %}end"
    assert [rendered(template) for _ in range(3)] == ["end"] * 3
