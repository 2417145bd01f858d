"""Tables in the place of a program: published ones, small ones, and how they are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hati.core import Better, InputError
from hati.design import by_runs, letters
from hati.project import read_feature_model, write_project
from hati.space import parse_feature_model
from hati.subject.table import infer_space, read_sheet
from hati.wiring import TableRequest, Workplace, check_table_budget, described, prepare_screening, table_workplace
from hati.wiring.kinds.screening import ScreeningRequest

SPACE = "".join(f"[options.{name}]\nsettings = [1, 2]\n" for name in "abc")
ROWS = [(a, b, c) for a in (1, 2) for b in (1, 2) for c in (1, 2)]
TABLE = "a,b,c,latency,memory\n" + "".join(f"{a},{b},{c},{a}{b}.5{c},{a + b + c}\n" for a, b, c in ROWS)

SYSTEMS = {
    "llvm": ("Performance", (), 1_024),
    "lrzip": ("Performance", (), 432),
    "hipacc": ("Performance", (), 13_485),
    "hsqldb": ("performance", ("revision=2.1.0",), 864),
    "llvm-passes": ("Cpu-", (), 65_536),
    "tao": ("latency_us", (), 16_384),
}


@pytest.fixture
def request_for(tmp_path: Path) -> TableRequest:
    (tmp_path / "hati.toml").write_text(SPACE)
    (tmp_path / "t.csv").write_text(TABLE)
    return TableRequest(tmp_path / "t.csv", tmp_path, ("latency",))


def published(shared_data: Path, folder: Path, system: str, **more: str) -> Workplace:
    """The workplace of a published system, its space imported or inferred."""
    metric, where, _ = SYSTEMS[system]
    place = shared_data / "configurable-systems" / system
    file = next(place.glob("measurements.csv*"))
    model = place / "FeatureModel.xml"
    space = read_feature_model(model).space if model.exists() else infer_space(read_sheet(file), ()).space
    (folder / "hati.toml").write_text(write_project(space, system))
    return table_workplace(TableRequest(file, folder, (metric,), where, **more))  # type: ignore[arg-type]  # keywords of several types


@pytest.mark.parametrize("system", SYSTEMS)
def test_published_tables_have_all_their_configurations(shared_data: Path, tmp_path: Path, system: str) -> None:
    table = published(shared_data, tmp_path, system).table
    assert table is not None
    assert len(table.configurations) == SYSTEMS[system][2]
    assert (table.outside, table.repetitions) == (0, 1)


@pytest.mark.parametrize("system", ["llvm", "lrzip", "hipacc", "hsqldb"])
def test_columns_of_features_are_read_as_the_model_says(shared_data: Path, tmp_path: Path, system: str) -> None:
    """Every row's configuration selects the features that are 1 in the row, and has the row's value."""
    folder = shared_data / "configurable-systems" / system
    table = published(shared_data, tmp_path, system).table
    assert table is not None
    model = parse_feature_model((folder / "FeatureModel.xml").read_text())
    sheet = read_sheet(next(folder.glob("measurements.csv*")))
    names = [name for name in sheet.columns if name in model.features]
    texts = list(zip(*(sheet.texts(name) for name in names), strict=True))[: len(table.configurations)]
    selected = [frozenset(name for name, text in zip(names, row, strict=True) if text == "1") for row in texts]
    assert [model.selected(configuration) for configuration in table.configurations] == selected
    metric = SYSTEMS[system][0]
    assert table.means(metric).tolist() == [float(text) for text in sheet.texts(metric)[: len(selected)]]


def test_every_release_of_hsqldb_is_a_revision_of_its_own(shared_data: Path, tmp_path: Path) -> None:
    place = published(shared_data, tmp_path, "hsqldb")
    assert place.revision == "2.1.0"
    folder = shared_data / "configurable-systems" / "hsqldb"
    with pytest.raises(InputError, match=r"the rows are of 19 values of revision: 2\.1\.0, 2\.2\.0"):
        table_workplace(TableRequest(folder / "measurements.csv.gz", tmp_path, ("performance",)))
    drawn = published(shared_data, tmp_path, "hsqldb", deviation=str(folder / "deviations.csv.gz"))
    assert drawn.repetitions == float("inf")
    assert drawn.machine != place.machine
    assert drawn.table is not None
    configuration = drawn.table.configurations[0]
    value = drawn.table.run(configuration, 0, "t")
    assert isinstance(value, dict)
    # The first row's deviation is .465 %.
    assert 0 < abs(value["performance"] / 55541.6 - 1) < 5 * 0.00465


def test_screening_tao_ranks_what_matters_first(shared_data: Path, tmp_path: Path) -> None:
    place = published(shared_data, tmp_path, "tao", unit="us")
    fraction = ",".join(by_runs(letters(14), 128).generators)
    conclusion = prepare_screening(place, ScreeningRequest(budget="128", design=fraction), fresh=False).make()
    assert conclusion.metric.unit == "us"
    assert (conclusion.done, conclusion.failed) == (128, 0)
    assert set(conclusion.ranking[:3]) == {"ClientConnectionHandler", "Concurrency", "ReactorMaskSignals"}
    assert {"ClientConnectionHandler", "Concurrency"} <= {*conclusion.important, *conclusion.important_or_aliased}


def test_the_effects_in_the_whole_of_tao_are_the_published_ones(shared_data: Path, tmp_path: Path) -> None:
    """As its README states them, in per cent of the latency; which setting comes first decides the sign."""
    table = published(shared_data, tmp_path, "tao").table
    assert table is not None
    logs, coded = np.log(table.means("latency_us")), 2 * table.codes - 1
    effects = dict(zip(table.space.names, np.abs(2 * (coded.T @ logs) / len(logs)).tolist(), strict=True))
    assert np.expm1(effects.pop("ClientConnectionHandler")) == pytest.approx(0.124, abs=0.0005)
    assert -np.expm1(-effects.pop("Concurrency")) == pytest.approx(0.035, abs=0.0005)
    assert np.expm1(effects.pop("ReactorMaskSignals")) == pytest.approx(0.029, abs=0.0005)
    assert -np.expm1(-effects.pop("ConnectionCacheLock")) == pytest.approx(0.007, abs=0.0005)
    assert max(effects.values()) < 0.0015


def test_screening_a_table_gives_the_same_again_and_stores_nothing(request_for: TableRequest) -> None:
    def made() -> object:
        place = table_workplace(request_for)
        return prepare_screening(place, ScreeningRequest(budget="8"), fresh=False).make()

    assert made() == made()
    assert sorted(path.name for path in request_for.table.parent.iterdir()) == ["hati.toml", "t.csv"]


def test_a_named_store_keeps_the_study(request_for: TableRequest) -> None:
    store = str(request_for.table.parent / "s.sqlite")
    place = table_workplace(request_for, store)
    first = prepare_screening(place, ScreeningRequest(budget="8"), fresh=False).make()
    again = prepare_screening(table_workplace(request_for, store), ScreeningRequest(budget="8"), fresh=False)
    assert again.finished
    assert again.make() == first


def test_commands_name_a_store_unless_the_environment_does(
    request_for: TableRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(request_for.table.parent / "s.sqlite")
    place = table_workplace(request_for, store)
    monkeypatch.delenv("HATI_STORE", raising=False)
    assert place.command("").store == ("--store", store)
    monkeypatch.setenv("HATI_STORE", store)
    assert place.command("").store == ()
    monkeypatch.setenv("HATI_STORE", "another.sqlite")
    assert place.command("").store == ("--store", store)


def test_designs_are_repeated_as_often_as_the_table_allows(request_for: TableRequest) -> None:
    def runs(text: str, **more: str) -> tuple[int, int]:
        request_for.table.write_text(text)
        request = TableRequest(request_for.table, request_for.space, ("latency",), **more)  # type: ignore[arg-type]  # keywords of several types
        place = table_workplace(request)
        conclusion = prepare_screening(place, ScreeningRequest(budget="32"), fresh=False).make()
        assert conclusion.failed == 0
        return conclusion.design.configurations, conclusion.design.repetitions

    assert runs(TABLE) == (8, 1)
    assert runs(TABLE.replace(".5", ".51@1.2@")) == (8, 3)
    assert runs(TABLE, deviation="2%") == (8, 4)


def test_what_decides_the_values_tells_studies_apart(request_for: TableRequest) -> None:
    head, *rows = TABLE.splitlines()
    sited = "".join(f"{line}\n" for line in (f"{head},site", *(f"{row},here" for row in rows)))

    def family(text: str = sited, **more: object) -> str:
        request_for.table.write_text(text)
        place = table_workplace(TableRequest(request_for.table, request_for.space, ("latency",), **more))  # type: ignore[arg-type]  # keywords of several types
        return prepare_screening(place, ScreeningRequest(budget="8"), fresh=False).id.family

    same = family()
    assert family() == same
    others = [family(where=("site=here",)), family(deviation="1%"), family(unit="s")]
    assert len({same, family(sited.replace("11.51", "11.6")), *others}) == 5


def test_the_metric_is_as_the_project_says_unless_told(request_for: TableRequest) -> None:
    file = request_for.space / "hati.toml"
    file.write_text(
        '[[benchmark]]\nname = "b"\ncommand = ["true"]\n[[benchmark.metric]]\nname = "latency"\nunit = "ms"\n'
        f'better = "higher"\n{SPACE}'
    )
    place = table_workplace(request_for)
    assert "latency in unit ms, higher is better" in described(place)[0]
    told = table_workplace(TableRequest(request_for.table, file, ("latency",), unit="us", better=Better.LOWER))
    assert "latency in unit us, lower is better" in described(told)[0]


def test_rows_beyond_the_constraints_are_told(request_for: TableRequest) -> None:
    file = request_for.space / "hati.toml"
    file.write_text(f"{SPACE}[space]\nconstraints = ['a + b + c < 6']\n")
    assert "do not hold in them: 1" in described(table_workplace(request_for))[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"deviation": "much"}, "'much' is neither a share, a column of the table, nor a file"),
        ({"deviation": "-1%"}, "-0.01 is not a valid relative deviation"),
        ({"metrics": ()}, "several columns could be the metric"),
        ({"where": ("a=3",)}, "no row has a=3; its values are: 1, 2"),
    ],
)
def test_requests_that_do_not_fit(request_for: TableRequest, change: dict[str, object], message: str) -> None:
    fields = {"metrics": ("latency",), **change}
    with pytest.raises(InputError) as caught:
        table_workplace(TableRequest(request_for.table, request_for.space, **fields))  # type: ignore[arg-type]  # keywords of several types
    assert message in str(caught.value)


def test_a_space_without_options_is_told_how_to_be_made(request_for: TableRequest) -> None:
    (request_for.space / "hati.toml").write_text("")
    with pytest.raises(InputError, match="make it with: hati space import"):
        table_workplace(request_for)


def test_budgets_in_time_are_refused() -> None:
    check_table_budget("12")
    with pytest.raises(InputError, match="says nothing for a table: looking runs up takes no time; give a number"):
        check_table_budget("2m")
