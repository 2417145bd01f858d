from __future__ import annotations

import json
import math

import numpy as np
import pytest
from example_screenings import empty_screening, hostile_screening, incomplete_screening, raw_screening, sqlite_screening

from hati.core import Better, Configuration, Metric, replace
from hati.document import Column, Shown, Table, cell_text, cell_value
from hati.render import to_plain
from hati.studies.recommendation.conclusion import RecommendationConclusion
from hati.studies.screening import DesignSummary, Noise, RunCounts, ScreeningConclusion, SettingEstimate
from hati.studies.screening.conclusion import DominatingOption, Losses, RelativeTo
from hati.studies.screening.document import screening_document, screening_tables
from hati.studies.screening.figures import half_normal, interactions, main_effects, pareto, run_order
from hati.studies.screening.support import conditional_table, dominating_sentence
from hati.studies.screening.values import screening_json
from hati.studies.screening.words import answer, design_summary, detection, run_summary, space_size

ALL = (sqlite_screening, raw_screening, incomplete_screening, empty_screening, hostile_screening)


@pytest.fixture(scope="module")
def whole() -> ScreeningConclusion:
    return sqlite_screening()


def test_the_answer_names_the_important_options_with_their_change(whole: ScreeningConclusion) -> None:
    assert answer(whole) == (
        "4 of 14 options matter for latency: synchronous=OFF -71.3 % (better); journal_mode=WAL -31.8 % (better); "
        "locking_mode=EXCLUSIVE -11.6 % (better); auto_vacuum=FULL +4.5 % (worse); "
        "also together: journal_mode x synchronous (or an alias of it)."
    )


@pytest.mark.parametrize(
    ("better", "told"),
    [
        (Better.LOWER, "synchronous=OFF (best) to FULL (worst) +57.4 %"),
        (Better.HIGHER, "synchronous=OFF (worst) to FULL (best) +57.4 %"),
    ],
)
def test_the_answer_names_the_best_and_the_worst_of_several_settings(
    whole: ScreeningConclusion, better: Better, told: str
) -> None:
    means = {"NORMAL": 2.0, "FULL": 3.0, "OFF": 1.0}
    settings = tuple(SettingEstimate(name, mean, None, 0.0) for name, mean in means.items())
    options = tuple(
        replace(option, settings=tuple(means)) if option.name == "synchronous" else option for option in whole.options
    )
    found = replace(
        whole,
        metric=replace(whole.metric, better=better),
        options=options,
        effects=(
            replace(whole.effects[0], relative=0.574, settings=settings, ends=("OFF", "FULL")),
            *whole.effects[1:],
        ),
    )
    assert told in answer(found)


def test_nothing_of_the_logarithm_of_a_variance_is_a_fraction(whole: ScreeningConclusion) -> None:
    dispersion = to_plain(screening_json(whole))["dispersion"]
    assert isinstance(dispersion, dict)
    for effect in dispersion["effects"]:
        assert (effect["unit"], effect["relative"], effect["relative_interval"]) == ("ln s^2", None, None)
        assert effect["estimate"] is not None


def test_the_answer_knows_what_better_means() -> None:
    assert "synchronous=OFF -71.3 % (worse)" in answer(raw_screening())


def test_better_and_worse_are_said_of_the_change_that_is_printed(whole: ScreeningConclusion) -> None:
    turned = replace(whole, effects=(replace(whole.effects[0], estimate=0.001), *whole.effects[1:]))
    assert "synchronous=OFF -71.3 % (better)" in answer(turned)


def test_the_answer_names_two_combinations_and_counts_the_rest(whole: ScreeningConclusion) -> None:
    clear = [replace(e, important=True, aliases=()) if len(e.options) == 2 else e for e in whole.effects]
    pairs = [" x ".join(e.options) for e in clear if len(e.options) == 2]
    said = answer(replace(whole, effects=tuple(clear)))
    assert said.endswith(f"; also together: {pairs[0]}, {pairs[1]} and {len(pairs) - 2} more.")


def fraction(whole: ScreeningConclusion, resolution: int, number: int) -> ScreeningConclusion:
    """The first of the important options' effects as a fraction of that resolution shows them: perhaps an alias."""
    doubtful = {(name,) for name in whole.important[:number]}
    effects = tuple(replace(e, important=False, aliased=True) if e.options in doubtful else e for e in whole.effects)
    design = replace(whole.design, resolution=resolution)
    return replace(whole, effects=effects, important=whole.important[number:], design=design)


def test_the_answer_of_a_fraction_says_what_else_an_effect_may_be_and_what_confirms_it(
    whole: ScreeningConclusion,
) -> None:
    named = f"--study {whole.study} --metric latency"
    again = f"`hati screen --metric latency --fresh --budget {whole.done}`."
    confirm = f"confirm by `hati validate {named}`, or by another design, {again}"
    one, all_ = fraction(whole, 4, 1), fraction(whole, 3, len(whole.important))
    assert f"1 more is important or aliased: {whole.important[0]}" in answer(one)
    assert answer(one).endswith(f"cannot distinguish this effect from interactions of three options: {confirm}")
    assert f"{len(whole.important)} of 14 options are important or aliased for latency: " in answer(all_)
    assert answer(all_).endswith(f"cannot distinguish these effects from interactions of two options: {confirm}")
    assert confirm not in answer(whole)


def test_the_third_word_is_in_tables_and_json(whole: ScreeningConclusion) -> None:
    one = fraction(whole, 4, 1)
    first = whole.important[0]
    said = to_plain(screening_json(one))
    assert said["important_or_aliased"] == [first]
    assert first not in said["important"]
    effects = {tuple(effect["options"]): effect for effect in said["effects"]}
    mine, another = effects[first,], effects[whole.important[1],]
    assert (mine["verdict"], mine["important"], mine["confirmed"]) == ("important or aliased", False, False)
    assert (another["verdict"], another["important"], another["confirmed"]) == ("important", True, False)
    assert [row[-1] for row in screening_tables(one).effects.rows].count("important or aliased") == 1
    assert one.influential == whole.influential


def test_options_that_matter_by_interactions_alone_are_named(whole: ScreeningConclusion) -> None:
    """gzip of nginx: it gains at one setting of another option and loses at the other, none of it on average."""
    (pair,) = (effect for effect in whole.effects if effect.shown and len(effect.options) == 2)
    other = pair.options[-1]
    clear = [replace(e, important=e is pair or (e.important and e.options != (other,))) for e in whole.effects]
    important = tuple(name for name in whole.important if name != other)
    found = replace(whole, important=important, effects=tuple(clear))
    assert f"; only by interactions: {other}; also together: " in answer(found)
    assert to_plain(screening_json(found))["interacting"] == [other]
    assert whole.interacting == ()


def test_the_answer_counts_what_it_does_not_name(whole: ScreeningConclusion) -> None:
    many = replace(whole, important=whole.ranking[:7])
    assert answer(many).startswith("7 of 14 options")
    assert answer(many).endswith("; and 3 more; also together: journal_mode x synchronous (or an alias of it).")


def test_the_answer_without_important_options(whole: ScreeningConclusion) -> None:
    none = replace(whole, important=(), effects=tuple(replace(e, important=False) for e in whole.effects))
    assert answer(none) == "None of the 14 options was shown to matter for latency."
    pair = replace(whole, important=(), effects=tuple(replace(e, important=len(e.options) == 2) for e in whole.effects))
    assert "combinations were: journal_mode x synchronous (or an alias of it), " in answer(pair)


def test_the_answer_admits_what_is_not_known() -> None:
    assert answer(incomplete_screening()).startswith("Which options matter for latency is undecided")
    assert answer(empty_screening()).startswith("Nothing can be said about latency yet")


def test_what_could_have_been_found_is_said(whole: ScreeningConclusion) -> None:
    assert detection(whole) == (
        "An effect of +1.9 % or -1.8 % (41 µs) or more would have been found with 80 % power; smaller ones may exist."
    )
    assert detection(raw_screening()).startswith("An effect of 4.1 % of the mean (75 1/s) or more")
    equal = replace(whole, points=tuple(replace(point, value=0.0) for point in whole.points))
    assert detection(equal).startswith("All values are equal")
    for effects in ((), whole.effects):
        assert answer(replace(equal, effects=effects)).startswith(
            "All values of latency are equal: no option had an effect in these 32 configurations."
        )
    assert detection(incomplete_screening()).startswith("How small an effect could have been found is unknown")


@pytest.mark.parametrize(
    ("design", "text"),
    [
        (
            DesignSummary("regular fraction", 96, 32, 3, 4, ("F=ABC",) * 9),
            "2^(14-9) fraction, resolution IV: 32 configurations x 3 repetitions = 96 runs",
        ),
        (
            DesignSummary("full factorial", 16384, 16384, 1, None, ()),
            "2^14 full factorial: 16,384 configurations x 1 repetition = 16,384 runs",
        ),
        (DesignSummary("given", 40, 20, 2, 3, ()), "given: 20 configurations x 2 repetitions = 40 runs"),
    ],
)
def test_a_design_in_a_line(whole: ScreeningConclusion, design: DesignSummary, text: str) -> None:
    assert design_summary(replace(whole, design=design)) == text


def test_space_and_runs_in_a_line(whole: ScreeningConclusion) -> None:
    assert space_size(whole) == "14 options, 16,384 configurations"
    assert run_summary(whole) == "96 done, 0 failed, 2 min 5 s in all"
    with_pilots = replace(whole, campaign=RunCounts(98, 7, (("pilot runs", 9), ("of the design", 96))))
    assert run_summary(with_pilots) == (
        "98 done, 7 failed (9 pilot runs, 96 of the design), 2 min 5 s in all; 96 values in the analysis"
    )


def test_important_effects_come_first_and_the_rest_is_counted(whole: ScreeningConclusion) -> None:
    table = screening_tables(whole).effects
    verdicts = [row[-1] for row in table.rows]
    assert verdicts == ["important"] * 5 + ["not shown"] * 8
    assert table.notes[0] == "18 smaller effects are not listed; none of them was shown."
    one = screening_tables(replace(whole, effects=whole.effects[:14])).effects
    assert one.notes[0] == "1 smaller effect is not listed; it was not shown."
    assert any(note.startswith("One estimate for journal_mode x synchronous and its aliases") for note in table.notes)


def test_the_notes_tell_how_effects_were_estimated(whole: ScreeningConclusion) -> None:
    everything = screening_tables(whole)
    lost = replace(whole, done=95, failed=1)
    for table in (everything.effects, everything.all_effects):
        assert "Effect = mean latency at the second setting minus that at the first; lower is better." in table.notes
        assert "Intervals are for each effect individually; verdicts are for all together." in table.notes
    assert "by least squares over the available runs; lower is better." in " ".join(
        screening_tables(lost).effects.notes
    )
    assert to_plain(screening_json(whole))["estimated_by"] == "difference of means"
    assert to_plain(screening_json(lost))["estimated_by"] == "least squares"
    assert not [n for n in screening_tables(incomplete_screening()).effects.notes if n.startswith("Intervals")]


def test_the_notes_say_that_effects_are_adjusted_for_a_trend(whole: ScreeningConclusion) -> None:
    """Runs of a table have no order in time."""
    note = "Effects are adjusted for a linear trend over the order of runs."
    for found, expected in ((whole, True), (replace(whole, seconds=0.0), False)):
        tables = screening_tables(found)
        assert [note in table.notes for table in (tables.effects, tables.all_effects)] == [expected, expected]


def test_json_says_what_relative_effects_are_relative_to(whole: ScreeningConclusion) -> None:
    assert to_plain(screening_json(whole))["relative_to"] == "first setting"
    raw = raw_screening()
    assert to_plain(screening_json(raw))["relative_to"] == "first setting"
    below = replace(raw, relative_to=RelativeTo.MEAN_SIZE)
    assert to_plain(screening_json(below))["relative_to"] == "mean size"
    more = replace(raw, options=(*raw.options[:-1], replace(raw.options[-1], settings=(1, 2, 3))))
    assert to_plain(screening_json(more))["relative_to"] == "first setting or lowest mean"


def test_every_table_of_every_conclusion_holds_together() -> None:
    for make in ALL:
        for table in filter(None, screening_tables(make())):
            for row in table.rows:
                assert all(isinstance(cell_text(cell), str) for cell in row)


def test_effects_that_are_gone_are_named() -> None:
    notes = screening_tables(incomplete_screening()).effects.notes
    assert "Can no longer be estimated: cell_size_check, recursive_triggers." in notes


def test_a_table_has_one_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="row 0 of 'T' has 2 cells for 1 columns"):
        Table("T", (Column("a"),), ((1, 2),))


def test_cells_show_less_than_they_hold() -> None:
    assert cell_text(Shown("1.7 ms", 0.00171)) == "1.7 ms"
    assert cell_value(Shown("1.7 ms", 0.00171)) == 0.00171
    assert [cell_text(c) for c in (None, True, 16384, 0.5, "x")] == ["", "true", "16,384", "0.5", "x"]
    assert cell_value(math.nan) is None


def test_json_has_the_keys_that_programs_rely_on(whole: ScreeningConclusion) -> None:
    said = to_plain(screening_json(whole))
    assert {
        *("study", "subject", "metric", "unit", "better", "scale", "space", "design", "effects", "ranking"),
        *("important", "detectable", "runs", "seconds", "warnings"),
    } <= set(said)
    assert said["space"] == {"options": 14, "configurations": 16384}
    assert said["runs"] == {"done": 96, "failed": 0, "all": {"done": 96, "failed": 0}}
    design = said["design"]
    assert isinstance(design, dict)
    assert set(design) == {"kind", "runs", "configurations", "repetitions", "resolution", "generators"}
    effects = said["effects"]
    assert isinstance(effects, list)
    first = effects[0]
    assert isinstance(first, dict)
    assert {
        *("options", "estimate", "unit", "relative", "interval", "standard_error"),
        *("share", "important", "aliases"),
    } <= set(first)
    assert first["options"] == ["synchronous"]
    assert first["estimate"] == whole.effects[0].estimate
    assert isinstance(first["aliases"], list)
    assert all(isinstance(alias, list) for alias in first["aliases"])


def test_json_says_null_and_never_nan(whole: ScreeningConclusion) -> None:
    for make in ALL:
        json.dumps(to_plain(screening_json(make())), allow_nan=False)
    broken = replace(whole, effects=(replace(whole.effects[0], estimate=math.nan, interval=(math.inf, 1.0)),))
    effects = json.loads(json.dumps(to_plain(screening_json(broken)), allow_nan=False))["effects"]
    assert effects[0]["estimate"] is None
    assert effects[0]["interval"] == [None, 1.0]
    assert to_plain(screening_json(incomplete_screening()))["detectable"] == {
        "estimate": None,
        "relative": None,
        "unit": "s",
        "power": 0.8,
    }


def test_main_effects_are_plain_means_in_a_balanced_design(whole: ScreeningConclusion) -> None:
    figure = main_effects(whole)
    assert figure.unit == "ms"
    assert [option.option for option in figure.options] == list(whole.ranking)
    for option in figure.options:
        for setting in option.settings:
            values = [p.value * 1000 for p in whole.points if str(p.configuration[option.option]) == setting.setting]
            assert setting.mean == pytest.approx(np.mean(values))
            assert setting.interval is not None
            assert setting.interval[0] < setting.mean < setting.interval[1]


def test_options_without_an_estimate_have_no_means() -> None:
    figure = main_effects(incomplete_screening())
    assert figure.left_out == 14 - len(figure.options) > 0
    assert all(option.settings[0].interval is None for option in figure.options)


def test_interactions_are_means_of_four_combinations(whole: ScreeningConclusion) -> None:
    figure = interactions(whole, most=3)
    assert len(figure.pairs) == 3
    pair = figure.pairs[0]
    assert (pair.x, pair.line, pair.important) == ("synchronous", "journal_mode", True)
    values = [
        p.value * 1000
        for p in whole.points
        if (p.configuration["synchronous"], p.configuration["journal_mode"]) == ("OFF", "DELETE")
    ]
    assert pair.means[1][0] == pytest.approx(np.mean(values))
    assert "page_size x mmap_size" in pair.aliases


def test_interactions_leave_out_pairs_with_an_empty_corner(whole: ScreeningConclusion) -> None:
    off = replace(whole, points=tuple(p for p in whole.points if p.configuration["synchronous"] == "OFF"))
    assert all("synchronous" not in (pair.x, pair.line) for pair in interactions(off).pairs)


def test_figures_of_effects_keep_all_important_ones(whole: ScreeningConclusion) -> None:
    normal = half_normal(whole)
    assert len(normal.points) == 31
    assert normal.unit == ""
    assert normal.threshold == whole.threshold
    few = pareto(whole, most=2)
    assert [point.label for point in few.points if point.important] == [p.label for p in few.points]
    assert few.left_out == 26
    sizes = [point.size for point in pareto(whole).points]
    assert sizes == sorted(sizes, reverse=True)


def test_figures_on_the_raw_scale_have_a_unit() -> None:
    raw = raw_screening()
    figure = pareto(replace(raw, metric=replace(raw.metric, unit="ns")))
    assert figure.unit == "µs"
    assert figure.threshold == pytest.approx(0.06)
    assert figure.points[0].size == pytest.approx(abs(raw.effects[0].contrast) / 1000)


def test_runs_are_in_order_and_know_their_repetition(whole: ScreeningConclusion) -> None:
    figure = run_order(replace(whole, points=whole.points[::-1]))
    assert [run.order for run in figure.runs] == list(range(1, 97))
    assert {run.repetition for run in figure.runs[:32]} == {1}
    assert {run.repetition for run in figure.runs[64:]} == {3}
    assert run_order(empty_screening()).runs == ()


def test_nothing_is_called_judged_where_nothing_measures_the_noise() -> None:
    incomplete = incomplete_screening()
    assert incomplete.judged_by is Noise.NONE
    notes = " ".join(screening_tables(incomplete).effects.notes)
    assert "No effect is called important while nothing measures the noise." in notes


def test_the_share_of_a_dominating_option_is_that_of_the_table(whole: ScreeningConclusion) -> None:
    effect = replace(whole.effects[0], options=("synchronous",), share=0.959)
    both = replace(effect, options=("journal_mode", "synchronous"), share=0.0304)
    other = replace(effect, options=("journal_mode",), share=0.01)
    found = replace(whole, effects=(effect, other), dominating=DominatingOption("synchronous", 0.957, "FULL", ()))
    assert (dominating_sentence(found) or "").startswith("synchronous explains 95.9 % of the variance, and ")
    joined = dominating_sentence(replace(found, effects=(effect, other, both)))
    assert (joined or "").startswith(
        "synchronous and its interactions explain 98.9 % of the variance (the sum of their shares in the table), and "
    )
    less = dominating_sentence(replace(found, effects=(replace(effect, share=0.5),)))
    assert (less or "").startswith(
        "A model of synchronous alone explains 95.7 % of the variance (its share in the table, 50.0 %, leaves out "
        "what other options explain as well), and the effects in the table are averages"
    )
    sum_of_less = dominating_sentence(replace(found, effects=(replace(effect, share=0.5), both)))
    assert (sum_of_less or "").startswith(
        "A model of synchronous and its interactions alone explains 95.7 % of the variance (their shares in the table, "
        "53.0 % together, leave out what other options explain as well), and"
    )


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (Losses(5, 20), "5 of 20 runs failed."),
        (Losses(6, 23), "6 of 23 runs failed (5 of the 20 of the design and its follow-up)."),
    ],
)
def test_counts_of_failed_runs_say_what_they_are_of(lost: Losses, said: str) -> None:
    assert answer(replace(incomplete_screening(), losses=lost)).endswith(said)


def test_a_command_is_the_last_thing_that_an_answer_says(whole: ScreeningConclusion) -> None:
    """Words after it would be copied with it."""
    dominating = DominatingOption("synchronous", 0.957, "FULL", ())
    metric, start = Metric("m", "s"), Configuration({"synchronous": "FULL"})
    advice = RecommendationConclusion("r", "s", "x", metric, start, (), False, 5, 10, 10, 0, (), 1.0, ())
    said = screening_document(replace(whole, dominating=dominating), advice).answer
    assert "Nothing to set" in said
    assert said.endswith(f"--set synchronous=FULL --budget {whole.done}`.")


def test_the_settings_of_a_change_at_a_setting_are_explained_if_the_option_has_more_than_two(
    whole: ScreeningConclusion,
) -> None:
    table = conditional_table(whole)
    assert table is not None
    said = "Of options with more settings, these are the ones with the lowest and the highest mean there."
    assert said not in table.notes
    option, *others = whole.options
    effect = replace(whole.conditional_effects[0], option=option.name)
    several = replace(option, settings=(*option.settings, "another"))
    more = conditional_table(replace(whole, options=(several, *others), conditional_effects=(effect,)))
    assert more is not None
    assert said in more.notes


def test_settings_without_an_effect_are_named_below_the_effects_at_settings(whole: ScreeningConclusion) -> None:
    every = conditional_table(whole)
    known = whole.conditional_effects
    lost = next(each for each in known if each.option == known[0].option)
    left = conditional_table(replace(whole, conditional_effects=tuple(each for each in known if each is not lost)))
    assert every is not None
    assert left is not None
    (note,) = {*left.notes} - {*every.notes}
    assert note == (
        f"No change of {lost.option} at {lost.at}: no configuration there is valid with both settings, or the runs do "
        "not determine it."
    )


def test_the_size_of_an_interaction_of_several_settings_has_a_legend(whole: ScreeningConclusion) -> None:
    """Only there: with two settings it is half the change of an effect, as ever."""
    (pair,) = (effect for effect in whole.effects if effect.shown and len(effect.options) == 2)
    options = tuple(
        replace(option, settings=(*option.settings, "third")) if option.name in pair.options else option
        for option in whole.options
    )
    several, plain = (screening_tables(each) for each in (replace(whole, options=options), whole))
    for more, less in ((several.effects, plain.effects), (several.all_effects, plain.all_effects)):
        assert [note for note in more.notes if note.startswith("Effect of an interaction = ")]
        assert not [note for note in less.notes if note.startswith("Effect of an interaction = ")]
