"""Feature models: small ones by hand, published ones against all their measured configurations."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Configuration, InputError
from hati.space import FeatureModel, check, count, enumerate_configurations, parse_feature_model


def feature(name: str, parent: str = "", *, optional: bool = False, excluded: str = "", implied: str = "") -> str:
    def entries(names: str) -> str:
        return "".join(f"<options>{entry}</options>" for entry in names.split(";") if entry)

    return (
        f"<configurationOption><name>{name}</name><parent>{parent}</parent>"
        f"<impliedOptions>{entries(implied)}</impliedOptions><excludedOptions>{entries(excluded)}</excludedOptions>"
        f"<optional>{optional}</optional></configurationOption>"
    )


def number(name: str, inside: str, parent: str = "") -> str:
    return f"<configurationOption><name>{name}</name><parent>{parent}</parent>{inside}</configurationOption>"


def model(*features: str, numbers: str = "", boolean: str = "", arithmetic: str = "", rest: str = "") -> FeatureModel:
    def rules(texts: str) -> str:
        return "".join(f"<constraint>{text}</constraint>" for text in texts.split("\n") if text)

    return parse_feature_model(
        f"<vm name='m'><binaryOptions>{''.join(features)}</binaryOptions>"
        f"<numericOptions>{numbers}</numericOptions><booleanConstraints>{rules(boolean)}</booleanConstraints>"
        f"<nonBooleanConstraints>{rules(arithmetic)}</nonBooleanConstraints>{rest}</vm>"
    )


def selections(made: FeatureModel) -> set[str]:
    """Each configuration as the sorted names of its features."""
    return {" ".join(sorted(made.selected(c))) for c in enumerate_configurations(made.space)}


def measured(folder: Path) -> set[frozenset[str]]:
    """The sets of features selected in the rows of a table of measurements."""
    plain, packed = folder / "measurements.csv", folder / "measurements.csv.gz"
    text = plain.read_text() if plain.exists() else gzip.decompress(packed.read_bytes()).decode()
    first = text[: text.index("\n")]
    rows = csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",")
    names = parse_feature_model((folder / "FeatureModel.xml").read_text()).features
    columns = [(position, name) for position, name in enumerate(next(rows)) if name in names]
    assert len(columns) == len(names)
    return {frozenset(name for position, name in columns if row[position] == "1") for row in rows}


@pytest.mark.parametrize(
    ("system", "configurations"), [("llvm", 1_024), ("lrzip", 432), ("hipacc", 13_485), ("hsqldb", 864)]
)
def test_published_systems_have_the_measured_configurations(
    shared_data: Path, system: str, configurations: int
) -> None:
    folder = shared_data / "configurable-systems" / system
    made = parse_feature_model((folder / "FeatureModel.xml").read_text())
    listed = list(enumerate_configurations(made.space))
    assert count(made.space) == len(listed) == configurations
    assert {made.selected(configuration) for configuration in listed} == measured(folder)
    assert made.space.valid(made.space.default)
    assert check(made.space).sound


def test_the_options_of_hipacc(shared_data: Path) -> None:
    text = (shared_data / "configurable-systems" / "hipacc" / "FeatureModel.xml").read_text()
    space = parse_feature_model(text).space
    assert {option.name: len(option.settings) for option in space.options} == {
        "API": 2,
        "TextureMemory": 2,
        "TextureMemory_choice": 4,
        "LocalMemory": 2,
        "Blocksize": 21,
        "padding": 17,
        "pixelPerThread": 4,
    }
    assert str(space.option("TextureMemory_choice").active_if) == "TextureMemory"


def test_alternatives_become_one_option_named_after_their_parent() -> None:
    made = model(feature("Size"), feature("small", "Size", excluded="big"), feature("big", "Size", excluded="small"))
    assert [(option.name, option.settings) for option in made.space.options] == [("Size", ("small", "big"))]
    assert made.space.constraints == ()
    assert made.always == {"Size"}
    assert selections(made) == {"Size small", "Size big"}


def test_optional_parents_make_their_children_nested() -> None:
    made = model(
        feature("zip", optional=True),
        feature("fast", "zip", excluded="good"),
        feature("good", "zip", excluded="fast"),
        feature("log", "good", optional=True),
        feature("base", "log"),
    )
    assert [option.name for option in made.space.options] == ["zip", "zip_choice", "log"]
    assert str(made.space.option("log").active_if) == "zip_choice == 'good'"
    assert selections(made) == {"", "fast zip", "good zip", "base good log zip"}


def test_several_groups_below_one_parent_are_told_apart() -> None:
    made = model(
        feature("r"),
        feature("on", "r", excluded="off"),
        feature("off", "r", excluded="on"),
        *(feature(f"v{i}", "r", excluded=";".join(f"v{j}" for j in range(4) if j != i)) for i in range(4)),
    )
    assert made.space.names == ("on_or_off", "v0_or_others")
    assert count(made.space) == 8


def test_a_one_sided_exclusion_counts_on_both_sides() -> None:
    made = model(feature("a", optional=True, excluded="b"), feature("b", optional=True))
    assert selections(made) == {"", "a", "b"}


def test_implied_features_of_which_one_is_enough() -> None:
    made = model(
        feature("a", optional=True, implied="b | c"),
        feature("b", optional=True),
        feature("c", optional=True, implied="b"),
    )
    assert selections(made) == {"", "b", "a b", "b c", "a b c"}


def test_boolean_constraints() -> None:
    parts = [feature(name, optional=True) for name in "abc"]
    made = model(*parts, boolean="!a | b &amp; c\na =&gt; b\n!(a &amp; !c)")
    assert selections(made) == {"", "b", "c", "b c", "a b c"}


def test_numeric_options_listed_and_stepped() -> None:
    made = model(
        feature("a", optional=True),
        numbers=number("n", "<values>1;2;4</values>")
        + number("x", "<minValue>0.1</minValue><maxValue>0.4</maxValue><stepFunction>n * 2</stepFunction>", "a")
        + number("k", "<minValue>0</minValue><maxValue>10</maxValue><stepFunction>n + 5</stepFunction>"),
    )
    assert {option.name: option.settings for option in made.space.options if option.name != "a"} == {
        "n": (1, 2, 4),
        "x": (0.1, 0.2, 0.4),
        "k": (0, 5, 10),
    }
    assert count(made.space) == 9 * (1 + 3)


def test_arithmetic_constraints_count_where_all_of_their_options_are_there() -> None:
    steps = "<minValue>1</minValue><maxValue>3</maxValue>"
    made = model(
        feature("a", optional=True),
        numbers=number("n", steps) + number("m", steps, "a"),
        arithmetic="n * 2 + m &lt;= 5",
    )
    assert count(made.space) == 3 + 4  # without a: all n; with it: (1, 1) (1, 2) (1, 3) (2, 1)
    guarded = model(feature("a", optional=True), numbers=number("n", steps), arithmetic="a + n = 2")
    assert count(guarded.space) == 3 + 1


def test_a_model_without_a_valid_configuration_is_read() -> None:
    made = model(feature("a", excluded="b"), feature("b", "a"))
    assert count(made.space) == 0
    assert check(made.space).contradiction


def test_a_default_that_is_not_valid_is_replaced() -> None:
    made = model(feature("a", optional=True), feature("b", optional=True), boolean="a\n!b")
    assert made.space.default == Configuration({"a": True, "b": False})


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "this is not well-formed XML: no element found"),
        ("<vm>\n  <binaryOptions>\n</vm>", 3, 3, "this is not well-formed XML: mismatched tag"),
        ("<vm a='1' a='2'/>", 1, 11, "this is not well-formed XML: duplicate attribute"),
        ("<vm>&amp;&lol;</vm>", 1, 10, "this is not well-formed XML: undefined entity"),
        ("<feature/>", 1, 1, "a feature model of SPL Conqueror starts with <vm>, this one with <feature>"),
        ("<vm>\n <binaryOption/></vm>", 2, 2, "unknown element <binaryOption>"),
        ("<vm><binaryOptions><configurationOption/></binaryOptions></vm>", 1, 20, "a configuration option has no name"),
        ("<a>" * 60, 1, 151, "elements are nested deeper than 50 levels"),
        (
            "<vm><mixedConstraints><constraint>a &gt; 1</constraint></mixedConstraints></vm>",
            1,
            23,
            "mixed constraints are not supported",
        ),
    ],
)
def test_malformed_models_are_told_with_their_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_feature_model(text, "m.xml")
    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column, caught.value.message) == ("m.xml", line, column, message)


@pytest.mark.parametrize(
    "prologue",
    [
        "<!DOCTYPE vm [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>",
        "<!DOCTYPE vm SYSTEM 'file:///etc/passwd'>",
        "<?xml version='1.0'?>\n<!DOCTYPE vm>",
    ],
)
def test_document_types_are_refused(prologue: str) -> None:
    with pytest.raises(InputError, match="document type 'vm': document types are not read"):
        parse_feature_model(prologue + "<vm>&b;</vm>")


_SHORT = "<minValue>1</minValue><maxValue>2</maxValue>"


@pytest.mark.parametrize(
    ("features", "more", "message"),
    [
        ([feature("a"), feature("a")], {}, "there are two options named 'a'"),
        ([feature("a", "b")], {}, "'a' has an unknown parent 'b'"),
        ([feature("a", "b"), feature("b", "a")], {}, "'a' is its own ancestor: a in b in a"),
        ([feature("a", excluded="c")], {}, "'a' implies or excludes 'c', which is not a feature"),
        ([feature("a", implied="a | c")], {}, "'a' implies or excludes 'c', which is not a feature"),
        (
            [feature("a", excluded="b"), feature("b", excluded="c"), feature("c")],
            {},
            "'a' excludes some of its siblings but not 'c'",
        ),
        ([feature("a{b", optional=True)], {}, "'a{b' cannot name an option"),
        (
            [feature("a", optional=True)],
            {"boolean": "a | d"},
            "the constraint 'a | d' mentions 'd', which is not a feature",
        ),
        (
            [feature("a", optional=True)],
            {"boolean": "a |"},
            "the constraint 'a |' cannot be read: expected an option, a setting or '(', found the end",
        ),
        (
            [feature("a", optional=True)],
            {"boolean": "a &lt; 3"},
            "the constraint 'a < 3' cannot be read: a < 3 is not a combination of features",
        ),
        ([feature("a")], {"arithmetic": "n &lt; 3"}, "the constraint 'n < 3' mentions 'n', which is not a feature"),
        ([feature("a")], {"arithmetic": "a"}, "the constraint 'a' cannot be read: it compares no two terms"),
        ([], {"numbers": number("n", "<minValue>1</minValue><maxValue>x</maxValue>")}, "'x' is not a valid number"),
        (
            [],
            {"numbers": number("n", "<minValue>3</minValue><maxValue>2</maxValue>")},
            "<minValue> is above <maxValue>",
        ),
        (
            [],
            {"numbers": number("n", _SHORT + "<stepFunction>n * 1</stepFunction>")},
            "the step function leads from 1 to 1",
        ),
        (
            [],
            {"numbers": number("n", _SHORT + "<stepFunction>m + 1</stepFunction>")},
            "the step function 'm + 1' cannot be read: m is neither a number nor n",
        ),
        ([], {"numbers": number("n", "<values>1;1</values>")}, "option 'n' has the setting 1 twice"),
        ([], {"numbers": number("n", "<minValue>1</minValue><maxValue>9e9</maxValue>")}, "too many settings"),
    ],
)
def test_models_that_cannot_be(features: list[str], more: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        model(*features, **more)
    assert caught.value.message == message
    assert caught.value.place is not None
    assert caught.value.place.line == 1


_TAGS = ["vm", "binaryOptions", "configurationOption", "name", "parent", "optional", "options", "excludedOptions"]
_PIECES = st.sampled_from(
    [
        *(f"<{tag}>" for tag in _TAGS),
        *(f"</{tag}>" for tag in _TAGS),
        "a",
        "b|c",
        "True",
        "&amp;",
        "<!--",
        "\x00",
        "<![CDATA[",
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES).map("".join)))
def test_any_text_is_a_model_or_an_error(text: str) -> None:
    try:
        parse_feature_model(text)
    except InputError as error:
        assert str(error)
