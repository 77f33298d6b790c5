"""Text and mappings that are no config, and overrides that are none, are refused while they are read."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muster.config import load_config
from muster.config.yaml_reader import MAX_BYTES, MAX_DEPTH
from muster.errors import Rejected
from tests.unit.sdk.configs import GOOD, refused

YAML = [
    ("a: &x 1", "invalid_yaml", "anchors"),
    ("a: *x", "invalid_yaml", "aliases"),
    ("a: !!python/object/apply:os.system [ls]", "invalid_yaml", "tag"),
    ("a: !mine 1", "invalid_yaml", "tag"),
    ("a: 1\na: 2", "repeated_key", "repeated"),
    ("a: [1, 2", "invalid_yaml", "not YAML"),
    ("a: b: c", "invalid_yaml", "not YAML"),
    ("- a", "invalid_type", "mapping"),
    ("text", "invalid_type", "mapping"),
    ("a: 1\n---\nb: 1", "invalid_yaml", "single YAML document"),
    ("a: .nan", "invalid_number", "finite"),
    ("a: -.inf", "invalid_number", "finite"),
    ("a: 1e999", "invalid_number", "finite"),
    ("a: 99999999999999999999", "invalid_number", "64 bits"),
    ('a: "\\0"', "invalid_text", "NUL"),
    ("5: a", "invalid_key", "text"),
    ("? [a]\n: b", "invalid_key", "text"),
    ("a: " + "[" * 100, "too_large", "deeper"),
    ("a: [" + "1," * 30_000 + "1]", "too_large", "values"),
    ("a: " + "x" * MAX_BYTES, "too_large", "KiB"),
    (b"a: \xff", "invalid_yaml", "UTF-8"),
    ("a: \x01", "invalid_yaml", "not YAML"),
]


@pytest.mark.parametrize(("text", "code", "word"), YAML, ids=[str(case[0])[:20] for case in YAML])
def test_text_that_is_no_config_is_refused_while_reading(text: Any, code: str, word: str) -> None:
    error = refused(text)
    assert error.code == code
    assert word in f"{error.message} {error.hint}"
    assert error.place


def test_a_bomb_of_aliases_ends_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert refused(bomb).place == "line 1, column 4"


@pytest.mark.parametrize(
    "bad", [{"a": float("nan")}, {1: 2}, {"a": object()}, {"a": {"b": 2**70}}, {"a": "\ud800"}, {"a\0": 1}]
)
def test_mappings_of_programs_are_held_to_the_same_rules(bad: Any) -> None:
    refused(bad)
    deep: dict[str, object] = {}
    for _ in range(MAX_DEPTH + 2):
        deep = {"a": deep}
    assert refused(deep).code == "too_large"


@pytest.mark.parametrize(
    ("override", "code", "place"),
    [
        ("searcher.max_trials", "invalid_override", "--config searcher.max_trials"),
        ("=5", "invalid_override", "--config"),
        ("a..b=5", "invalid_override", "--config a..b"),
        ("hyperparameters.batch.size=5", "invalid_override", "--config hyperparameters.batch.size"),
        ("hyperparameters.sizes.7=5", "invalid_override", "--config hyperparameters.sizes.7"),
        (
            "searcher.max_trials=zero",
            "invalid_type",
            "searcher.max_trials, set by --config searcher.max_trials",
        ),
        ("name=[1", "invalid_yaml", "--config name"),
        ("name=&x y", "invalid_yaml", "--config name"),
    ],
)
def test_an_override_that_is_wrong_is_named(override: str, code: str, place: str) -> None:
    error = refused(GOOD, [override])
    assert (error.code, error.place) == (code, place)


@given(st.text(max_size=200))
def test_no_text_does_anything_but_load_or_be_refused(text: Any) -> None:
    assert refused(text).message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(
        ["hyperparameters", "searcher", "resources", "entrypoint", "data", "environment", "labels", "name"]
    ),
)
def test_no_value_of_any_key_does_anything_but_load_or_be_refused(value: object, key: str) -> None:
    document = json.loads(load_config(GOOD).to_json()) | {key: value}
    try:
        config = load_config(document)
    except Rejected:
        assert refused(document).place
    else:
        assert load_config(config.to_json()) == config
