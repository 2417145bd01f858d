"""Formulas that are read, and how they are printed: each canonical text is read as the same tree again."""

from __future__ import annotations

import pytest

from hati.core import InputError
from hati.formula import Comparator
from hati.logic.syntax import (
    STRICT,
    Callee,
    FormulaStatistic,
    Generator,
    LimitSide,
    Margin,
    MeasuredStatistic,
    Method,
    MethodAlias,
    Number,
    Observed,
    Operation,
    Operator,
    ParameterComparison,
    PerformanceSide,
    Quantified,
    Relation,
    StatisticKind,
    parse_file,
    parse_formula,
)

A, B = (PerformanceSide(MeasuredStatistic(Method(Callee(name)))) for name in "ab")
TIMES = Operator.MULTIPLY


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # transformations
        ("a<=b", "a <= b"),
        ("a <=(x: 0.95*x, x:x) b", "0.95 * a <= b"),
        ("a <=(y: y, id) b", "a <= b"),
        ("a ≤ b*1.05", "a <= 1.05 * b"),
        ("a <= 1.05 * b + 2 ms", "a <= 1.05 * b + 2 ms"),
        ("a <= 2 ms + b", "a <= b + 2 ms"),
        ("a <= b / 2", "a <= b / 2"),
        ("a <= 2 * b * 3", "a <= 6 * b"),
        ("a <= (b + 2 ms) / 2", "a <=(x: x, x: (x + 2 ms) / 2) b"),
        ("a <=(x: x, y: log2(y)**2) b", "a <=(x: x, x: log2(x) ** 2) b"),
        ("a <=(id, λx.0.95x) b", "a <= 0.95 * b"),
        ("a ≥_p(id, λx. 0.95x) b ∧ a <=_p (id, λ x . 1.05 x) b", "a >= 0.95 * b & a <= 1.05 * b"),
        ("a <=(λx.x, λy.200y) b", "a <= 200 * b"),
        ("a <=(id, λx. log2(x) + 1) b", "a <=(x: x, x: log2(x) + 1) b"),
        ("a <=(x: max(x, 1 ms), id) 2 ms", "a <=(x: max(x, 1 ms), x: x) 2 ms"),
        # margins
        ("a = b +- 3%", "a = b +- 3%"),
        ("a = b ± 2 ms", "a = b +- 2 ms"),
        ("a <= b within 3 %", "a <= b within 3%"),
        ("a >= b +- 3%", "a >= b within 3%"),
        ("a <= b strictly", "a <= b strictly"),
        ("a <= b within 0%", "a <= b strictly"),
        # statistics, metrics, units
        ("mean(a) <= b", "a <= b"),
        ("p99(get(1000)) <= 2ms", "p99(get(1000)) <= 2 ms"),
        ("quantile(.999, cpu(get(1_000))) < p50(b)", "p99.9(cpu(get(1000))) < median(b)"),
        ("quantile(5%, a) > 1 µs", "p5(a) > 1 us"),
        ("throughput(get(1000)) >= 1000 / s", "throughput(get(1000)) >= 1000 /s"),
        ("transfer of get >= 2 MB / s", "transfer of get >= 2 MB/s"),
        ("p99('queue depth' of get) <= 5 'page'", "p99('queue depth' of get) <= 5 'page'"),
        ("cpu_time of a <= cpu(b) | peak_memory of a > 2 B", "cpu(a) <= cpu(b) | memory(a) > 2 B"),
        ("1.05 * p99(a) <= p99(1.05 * b)", "1.05 * p99(a) <= 1.05 * p99(b)"),
        # methods
        ("new@HEAD~1[rand](10) <= sort@main", "new@HEAD~1[rand](10) <= sort@main"),
        ("pkg.mod:C.f[g]@v1.2(1) < a@pkg==1.4", "pkg.mod:C.f@v1.2[g](1) < a@pkg==1.4"),
        ("a@r123 < a@'odd one' & a@^/branches/x < a@main@{2}", "a@r123 < a@'odd one' & a@^/branches/x < a@main@{2}"),
        ("a[rand('uniform'), make](n = 3, 'x') < `get-small`", "a[rand('uniform'), make](n = 3, 'x') < `get-small`"),
        ("THIS = HashMap.get() +- 5%", "SELF = HashMap.get +- 5%"),
        # connectives
        ("a<b and not c<d or e<f implies g<h", "a < b & !(c < d) | e < f => g < h"),
        ("(a<b => c<d) => e<f", "(a < b => c < d) => e < f"),
        ("a<b & (c<d & e<f)", "a < b & (c < d & e < f)"),
        ("true | false", "true | false"),
        # quantifiers
        ("forall n in {1..10, 100}: f(n) <= g(n*2)", "for all n in {1..10, 100}: f(n) <= g(n * 2)"),
        ("∀ n ∈ {1..9 step 2}: ∃ k in {1..n}: f(k)<g", "for all n in {1..9 step 2}: exists k in {1..n}: f(k) < g"),
        (
            "for all (n,k) in {(1,2),(2,4)}: n > k => f(n) <= k*g(2**-k, max(n,log2(k)))",
            "for all (n, k) in {(1, 2), (2, 4)}: n > k => f(n) <= k * g(2 ** -k, max(n, log2(k)))",
        ),
        ("for all n in {1}, k in {2}: f(n) < g(k)", "for all n in {1}: for all k in {2}: f(n) < g(k)"),
        ("a<b & for all n in {1}: c<f(n) & d<f(n)", "a < b & (for all n in {1}: c < f(n) & d < f(n))"),
        ("for all n in {1, 2}: f(n) <= n * 2 us # so", "for all n in {1, 2}: f(n) <= n * 2 us"),
        # as the SPL paper and its tool wrote it
        ("a <= b ==> c < d", "a <= b => c < d"),
        ("a =(0.1) b", "a = b +- 10%"),
        ("a =(1,2,0.05) b", "a = 2 * b +- 5%"),
        (
            "for ( i{1,2} (a,b){(1,2),(3,4)} ) M[G](i) <= (1, 1.1) N[H](a, b)",
            "for all i in {1, 2}: for all (a, b) in {(1, 3), (2, 4)}: M[G](i) <= 1.1 * N[H](a, b)",
        ),
        (
            "proj@v1:org.foo.Bar('x')#method(int,String[])[Gen('1')#make('2')](3) == :a.b.C#m[G](1)",
            "proj:org.foo.Bar('x')#method(int, String[])@v1[Gen('1')#make('2')](3) = a.b.C#m[G](1)",
        ),
        (
            "for i in 10, 100, 500, 1000\n  linkedlist(i) > arraylist(i)",
            "for all i in {10, 100, 500, 1000}: linkedlist(i) > arraylist(i)",
        ),
    ],
)
def test_what_is_read_is_printed_canonically(text: str, canonical: str) -> None:
    formula = parse_formula(text)
    assert str(formula) == canonical
    assert parse_formula(canonical) == formula


def test_a_relation_has_two_sides_and_a_margin() -> None:
    expected = (
        PerformanceSide(A.measured),
        Comparator.AT_MOST,
        PerformanceSide(B.measured, Operation(TIMES, Number(2), Observed())),
    )
    assert parse_formula("a <= 2 * b") == Relation(*expected)
    assert parse_formula("a <= 2 * b strictly") == Relation(*expected, STRICT)
    assert parse_formula("a <= 2 * b within 3%") == Relation(*expected, Margin(Number(3, "%")))


def test_a_limit_is_a_side() -> None:
    measured = MeasuredStatistic(A.measured.method, "cpu_time", FormulaStatistic(StatisticKind.QUANTILE, 0.99))
    expected = Relation(PerformanceSide(measured), Comparator.LESS, LimitSide(Number(2, "ms")))
    assert parse_formula("p99(cpu(a)) < 2 ms") == expected


def test_parameters_are_compared_without_measuring() -> None:
    formula = parse_formula("for all n in {1, 2}: n > 1 => f(n) <= g(n)")
    assert isinstance(formula, Quantified)
    assert any(isinstance(node, ParameterComparison) for node in formula.nodes())
    assert len(formula.find(Relation)) == 1


FILE = """\
# sorting
alias old = pkg.mod:sort@v1.2
alias new = pkg.mod:sort
generator rand = bench:rand('uniform')
constant sizes = {10, 100..1000 step 300}   # of lists
constant tolerance = 3%

not_slower: for all n in sizes:
    new[rand](n) <= old[rand](n) within tolerance
"it's fast": new[rand](3) <= 2 ms
  & old[rand](3) <= 5 ms
new < old
"""


def test_a_file_declares_names_and_has_formulas_at_their_places() -> None:
    file = parse_file(FILE, "sorting.spl")
    assert [formula.name for formula in file.formulas] == ["not_slower", "it's fast", ""]
    assert [(formula.place.line, formula.place.column) for formula in file.formulas] == [(8, 1), (10, 1), (12, 1)]
    assert file.declarations.declared[0] == MethodAlias("old", Method(Callee("pkg.mod:sort"), "v1.2"))
    assert parse_file(str(file), "canonical.spl") == file


def test_aliases_and_generators_are_resolved() -> None:
    file = parse_file(FILE, "sorting.spl")
    used = file.formulas[1].formula.find(Relation)[1].left
    assert isinstance(used, PerformanceSide)
    method = file.declarations.resolved(used.measured.method)
    assert str(method) == "pkg.mod:sort@v1.2[bench:rand('uniform')](3)"
    assert method.workload == Generator(Callee("bench:rand"), "", method.workload.arguments if method.workload else ())


LISTINGS = {
    "Listing 2": """\
ver1 = myMethod@ver1
ver2 = myMethod@ver2

ver2 <= ver1
""",
    "Listing 5": """\
arraylist = ArrayList.contains[randomSearch, factoryArrayList]
linkedlist = LinkedList.contains[randomSearch, factoryLinkedList]
for i in 10, 100, 500, 1000
    linkedlist(i) > arraylist(i)
""",
}
READ = {
    "Listing 2": """\
alias ver1 = myMethod@ver1
alias ver2 = myMethod@ver2

ver2 <= ver1
""",
    "Listing 5": """\
alias arraylist = ArrayList.contains[randomSearch, factoryArrayList]
alias linkedlist = LinkedList.contains[randomSearch, factoryLinkedList]

for all i in {10, 100, 500, 1000}: linkedlist(i) > arraylist(i)
""",
}


@pytest.mark.parametrize("listing", LISTINGS)
def test_the_listings_of_seed_004_are_read_as_they_are_printed(listing: str) -> None:
    file = parse_file(LISTINGS[listing], "listing.spl")
    assert str(file) == READ[listing]
    assert parse_file(READ[listing], "listing.spl") == file


def test_an_alias_is_no_name_that_a_benchmark_has() -> None:
    text = "fast = sort@v1\nfast <= 2 ms\n"
    assert str(parse_file(text, "a.spl")).startswith("alias fast = sort@v1\n")
    with pytest.raises(InputError, match=r"'fast' is not declared; write `alias fast = \.\.\.`, or for an equality"):
        parse_file(text, "a.spl", taken=["fast"])
