"""The feasibility study: its arrays against slow ones, its page on made-up systems, its measuring when it is killed."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from examples.study import measuring
from examples.study.analysis import Effort
from examples.study.claims import CLAIMS, DETAILS, Claim
from examples.study.effects import all_signs, effects, pair_designs, spectrum
from examples.study.judging import Verdict
from examples.study.measuring import measure, origin_file, write_table
from examples.study.page import RESULTS, page, write_page, write_results
from examples.study.screenings import DESIGNS, PRINTED
from examples.study.systems import LETTERS, TAO, Source, system
from examples.study.validations import costs

from hati.campaign import Observer
from hati.core import InputError
from hati.design import from_generators, resolution, word_length_pattern
from hati.studies.validation import Mode

pytestmark = [
    pytest.mark.xdist_group("study"),  # one worker makes what they share
    pytest.mark.acceptance,
]

SMALL = Effort(fractions=2, suites=3, random=20, validations=((Mode.DISCRIMINATE, 2, 16), (Mode.DEALIAS, 3, 64)))
TRUTH = {"B": 0.3, "J": -0.2, "C": 0.1, "BJ": 0.05}


def source(folder: Path, truth: dict[str, float], noise: float) -> Source:
    """A made-up system with those effects on the logarithm of its time."""
    signs = all_signs(len(LETTERS))
    logs = np.random.default_rng(1).normal(0.0, noise, len(signs))
    for letters, size in truth.items():
        logs += size / 2.0 * signs[:, [LETTERS.index(letter) for letter in letters]].prod(axis=1)
    options = [f'[options.option_{letter}]\nsettings = ["off", "on"]\n' for letter in LETTERS]
    (folder / "hati.toml").write_text('[subject]\nname = "made-up"\n' + "".join(options))
    header = ",".join([*(f"option_{letter}" for letter in LETTERS), "time"])
    rows = [
        ",".join(["on" if s > 0 else "off" for s in row] + [f"{np.exp(x):.9g}"])
        for row, x in zip(signs, logs, strict=True)
    ]
    table = folder / "table.csv.gz"
    table.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    return Source("made-up", "Made-up", table, folder, "time", "s", "Made up")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a system whose truth is known, and the page beside it."""
    folder = tmp_path_factory.mktemp("study")
    known = source(folder, TRUTH, 0.01)
    absent = Source("absent", "Absent", folder / "none.csv", folder, "time", "s")
    write_results((known, absent), folder / "figures", SMALL)
    write_page((known, absent), folder / "figures", folder / "page.md")
    return folder


def test_the_page_confirms_what_is_true_and_says_what_is_not_measured(written: Path) -> None:
    text = (written / "page.md").read_text()
    found = json.loads((written / "figures" / RESULTS).read_text())["systems"]["made-up"]
    assert found["full"]["important"] == ["B", "J", "C"]
    assert found["full"]["important_pairs"] == ["BJ"]
    assert found["printed"]["resolution"] == 3
    for letters, size, *_ in ((f[0], f[2]) for f in found["full"]["main"][:3]):
        assert size == pytest.approx(TRUTH[letters], abs=0.001)
    verdicts = {claim.text: claim.judge(found).verdict for claim in (*CLAIMS, *DETAILS)}
    assert verdicts["Screening designs can correctly identify important options"] == Verdict.CONFIRMED
    assert list(verdicts.values()).count(Verdict.UNTESTED) == 2
    assert Verdict.REFUTED not in {claim.judge(found).verdict for claim in DETAILS}
    assert "**Absent is not measured yet**" in text
    assert "Made-up is not measured" not in text
    assert "| J | option_J | -18.1 % |" in text  # exp(-.2) - 1
    assert not re.search(r"\b(nan|inf|None|Undefined)\b", text)


def test_every_figure_of_the_page_is_there_and_every_figure_there_is_shown(written: Path) -> None:
    shown = set(re.findall(r"\]\(figures/([^)]+)\)", (written / "page.md").read_text()))
    made = {file.name for file in (written / "figures").glob("*.svg")}
    assert shown <= made
    assert made - shown == {"made-up-quantiles-8.svg", "made-up-boxes-8.svg"}


def test_tables_of_the_page_have_a_cell_for_each_column(written: Path) -> None:
    rows = re.findall(r"(?:^\|.*\|$\n)+", (written / "page.md").read_text(), re.MULTILINE)
    assert len(rows) >= 7
    for table in rows:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table


WORSE = {
    "Screening designs can": ("fractions", {"exact": 0.4, "false": 0.2}),
    "These options can": ("suites.suite", {"missed": 0.2}),
    "Random or ad hoc": ("suites.random", {"missed": 0.01}),
    "The largest main effects": ("fractions", {"ranked": 0.4}),
    "All screening designs": ("fractions", {"largest": 0.9}),
    "The 128-run design": ("fractions.found", {"C": 0.4}),
    "The 2,048-run design": ("pairs", {"important": 0}),
    "The most important pairs": ("full", {"important_pairs": ["BJ", "KL"]}),
    "Important options": ("", {"aliases": {"B": 20.0, "J": 0.5}}),
    "De-aliasing": ("validations", {"effects": ["J"]}),
    "No important effect": ("", {"third_order": ["BCJ", "DEF"]}),
    "Mann and Whitney": ("suites.suite", {"rejected": 0.1}),
}


@pytest.mark.parametrize("claim", [claim for claim in (*CLAIMS, *DETAILS) if claim.rule], ids=lambda claim: claim.text)
def test_each_claim_is_refuted_by_the_numbers_that_speak_against_it(claim: Claim, written: Path) -> None:
    found = json.loads((written / "figures" / RESULTS).read_text())["systems"]["made-up"]
    where, numbers = next(change for text, change in WORSE.items() if claim.text.startswith(text))
    places = [found]
    for step in filter(None, where.split(".")):
        places = [
            part for place in places for part in (place[step] if isinstance(place[step], list) else [place[step]])
        ]
    for place in places:
        place.update(numbers)
    assert claim.judge(found).verdict is Verdict.REFUTED


def test_a_refused_validation_is_told(written: Path) -> None:
    results = json.loads((written / "figures" / RESULTS).read_text())
    results["systems"]["made-up"]["validations"] = [
        {"mode": "dealias", "order": 3, "budget": 64, "refused": "nothing is important"}
    ]
    text = page(results, (), "figures")
    assert "| dealias | 3 | 64 | | refused: nothing is important | | |" in text


def test_without_any_table_the_page_says_so(tmp_path: Path) -> None:
    absent = Source("absent", "Absent", tmp_path / "none.csv", tmp_path, "time", "s")
    write_results((absent,), tmp_path, SMALL)
    assert "**Absent is not measured yet**" in page(json.loads((tmp_path / RESULTS).read_text()), (absent,), ".")


def test_a_missing_configuration_is_told(tmp_path: Path) -> None:
    known = source(tmp_path, TRUTH, 0.01)
    lines = gzip.decompress(known.table.read_bytes()).decode().splitlines(keepends=True)
    known.table.write_bytes(gzip.compress("".join(lines[:-3]).encode()))
    with pytest.raises(InputError, match=r"lacks 3 of 16,384 configurations"):
        system(known)


def test_the_spectrum_holds_differences_of_means() -> None:
    logs, signs = np.random.default_rng(3).normal(size=32), all_signs(5)
    found = spectrum(logs)
    assert found[0] == pytest.approx(2 * logs.mean())
    for size in (1, 2, 3):
        for term in combinations(range(5), size):
            product = signs[:, term].prod(axis=1)
            difference = logs[product > 0].mean() - logs[product < 0].mean()
            assert found[sum(1 << option for option in term)] == pytest.approx(difference)


def test_effects_have_the_error_of_the_residuals() -> None:
    signs = all_signs(6)
    logs = np.random.default_rng(4).normal(size=64)
    found = effects(signs, logs)
    columns = np.column_stack([np.ones(64), *(signs[:, term].prod(axis=1) for term in found.terms)])
    coefficients, residual, *_ = np.linalg.lstsq(columns, logs, rcond=None)
    assert found.sizes == pytest.approx(2 * coefficients[1:])
    assert found.error == pytest.approx(2 * np.sqrt(residual[0] / (64 - 22) / 64))


def test_the_designs_are_the_seeds() -> None:
    made = {name: from_generators(LETTERS, text.split()) for name, text in DESIGNS.items()}
    assert {name: (d.runs, resolution(d)) for name, d in made.items()} == {
        "Scr32": (32, 4),
        "Scr64": (64, 4),
        "Scr128": (128, 4),
    }
    assert resolution(from_generators(LETTERS, PRINTED.split())) == 3
    assert word_length_pattern(made["Scr64"])[4] == 22
    assert [resolution(design) for design in pair_designs().values()] == [6, 8, 7, 6, 5]


def test_complete_de_aliasing_needs_635_runs() -> None:
    assert (costs().aliases, costs().runs) == (635, 635)


def test_tao_has_the_effects_that_its_data_set_states() -> None:
    of = system(TAO)
    found = effects(all_signs(len(LETTERS)), of.logs)
    assert [LETTERS[option] for option in found.options] == ["B", "J", "C"]
    stated = {(1,): 0.124, (9,): -0.035, (2,): 0.029, (5,): -0.007, (1, 2): 0.014, (2, 9): -0.013}
    for term, change in stated.items():
        assert np.expm1(found.by_term[term]) == pytest.approx(change, abs=0.0006)


PROGRAM = """import pathlib, sys
log = pathlib.Path(sys.argv[1])
before = log.read_text().splitlines() if log.exists() else []
log.write_text("\\n".join([*before, sys.argv[2]]))
if sys.argv[2] == "on-off" and sys.argv[2] not in before:
    sys.exit(1)
print("time:", 1 + len(before))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A program of four configurations, one of which fails the first time; it writes down its runs."""
    (tmp_path / "subject").mkdir()
    (tmp_path / "subject" / "program.py").write_text(PROGRAM)
    (tmp_path / "subject" / "hati.toml").write_text(
        f"""[subject]
name = "four"
[[benchmark]]
name = "main"
command = ["python3", "program.py", "{tmp_path / "log"}", "{{a}}-{{b}}"]
reader = "regex"
[[benchmark.metric]]
name = "time"
unit = "s"
pattern = 'time: (\\d+)'
[options]
a = {{ settings = ["off", "on"] }}
b = {{ settings = ["off", "on"] }}
"""
    )
    return tmp_path / "subject"


def test_a_killed_measurement_goes_on_and_a_finished_one_is_kept(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def killing(_: str) -> Iterator[Observer]:
        def observe(*_: object) -> None:
            raise KeyboardInterrupt

        yield observe

    log, store = tmp_path / "log", str(tmp_path / "store.sqlite")
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(measuring, "progress", killing)
        measure(project, store)
    assert len(log.read_text().splitlines()) == 1
    found = measure(project, store)
    assert len(found.runs) == 4
    assert found.failed == 1
    assert sorted(log.read_text().splitlines()) == ["off-off", "off-on", "on-off", "on-off", "on-on"]
    again = measure(project, store)
    assert again.runs == found.runs
    assert len(log.read_text().splitlines()) == 5
    table = tmp_path / "four.csv.gz"
    write_table(found, table)
    header, *rows = gzip.decompress(table.read_bytes()).decode().splitlines()
    assert header == "a,b,time"
    assert sorted(row[: row.rindex(",")] for row in rows) == ["off,off", "off,on", "on,off", "on,on"]
    assert json.loads(origin_file(table).read_text())["failed"] == 1
