"""Each mistake in a config is refused with its place and what to do."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muster.config import load_config
from muster.config.document import MAX_BYTES, MAX_DEPTH
from muster.errors import Rejected
from tests.unit.sdk.configs import GOOD, refused

MISTAKES = [
    # what to replace, by what, code, place, a word of the message or hint
    ("name: digits", "nmae: digits", "unknown_key", "nmae, line 1, column 1", "did you mean 'name'"),
    ("  max_time: 9", "  max_tiem: 9", "unknown_key", "searcher.max_tiem, line 16, column 3", "max_time"),
    ("  max_time: 9\n", "", "missing_key", "searcher.max_time, line 10, column 1", "missing"),
    ("max_time: 9", "max_time: nine", "invalid_type", "searcher.max_time, line 16, column 3", "whole number"),
    ("max_time: 9", "max_time: 9.5", "invalid_type", "searcher.max_time, line 16, column 3", "whole number"),
    ("max_time: 9", "max_time: 0", "invalid_value", "searcher.max_time, line 16, column 3", "1"),
    ("max_time: 9", "max_length: 9", "unsupported_key", "searcher.max_length, line 16, column 3", "max_time"),
    ("adaptive_asha", "hyperopt", "unknown_searcher", "searcher, line 10, column 1", "adaptive_asha"),
    ("minval: -4", "minval: -1", "invalid_value", "hyperparameters.lr.minval, line 4, column 29", "below"),
    ("minval: -4", "minval: 1", "invalid_value", "hyperparameters.lr.minval, line 4, column 29", "below"),
    (
        "maxval: -1",
        "maxval: 900",
        "invalid_value",
        "hyperparameters.lr.maxval, line 4, column 41",
        "exponent",
    ),
    ("base: 10", "base: 1", "invalid_value", "hyperparameters.lr.base, line 4, column 19", "base"),
    ("base: 10, ", "", "missing_key", "hyperparameters.lr.base, line 4, column 3", "missing"),
    ("type: log", "type: lgo", "invalid_value", "hyperparameters.lr, line 4, column 3", "categorical"),
    ("vals: [relu, tanh]", "vals: []", "invalid_value", "hyperparameters.layers.act.vals, line 7", "short"),
    ("minval: 8", "minval: true", "invalid_type", "hyperparameters.layers.width.minval", "whole number"),
    ("minval: 8", "minvl: 8", "unknown_key", "hyperparameters.layers.width.minvl", "minval"),
    ("python3 train.py", "model:Trial", "invalid_value", "entrypoint, line 2, column 1", "script"),
    ("python3 train.py", "''", "invalid_value", "entrypoint, line 2, column 1", "empty"),
    ("python3 train.py", "[1]", "invalid_value", "entrypoint, line 2, column 1", "text"),
    ("name: digits", "name: 5", "invalid_type", "name, line 1, column 1", "text"),
    ("name: digits", "workspace: w", "invalid_value", "project", "come together"),
    ("name: digits", "bind_mounts: [{host_path: /x}]", "unsupported_key", "bind_mounts, line 1", "folders"),
    ("name: digits", "environment: {image: x}", "unsupported_key", "environment.image, line 1", "container"),
    (
        "name: digits",
        "profiling: {begin_on_batch: 9, end_after_batch: 5}",
        "invalid_value",
        "profiling.end_after_batch, line 1",
        "nothing would be measured",
    ),
    (
        "name: digits",
        "optimizations: {mixed_precision: O2}",
        "unsupported_key",
        "mixed_precision",
        "your training",
    ),
    (
        "name: digits",
        "resources: {required_labels: {rack: r 7}}",
        "invalid_value",
        "resources.required_labels.rack, line 1",
        "",
    ),
    (
        "name: digits",
        "resources: {required_labels: {rack: r7}, preferred_labels: {rack: r8}}",
        "invalid_value",
        "preferred_labels.rack",
        "both required and preferred",
    ),
    ("name: digits", "resources: {priority: 0}", "invalid_value", "resources.priority, line 1", "1"),
    (
        "name: digits",
        "resources: {max_slots: 1, slots_per_trial: 2}",
        "invalid_value",
        "max_slots",
        "ever start",
    ),
    (
        "name: digits",
        "resources: {slots_per_trial: {min: 4, max: 2}}",
        "invalid_value",
        "resources.slots_per_trial.min, line 1, column 31",
        "above max",
    ),
    (
        "name: digits",
        "resources: {slots_per_trial: {min: 0, max: 2}}",
        "invalid_value",
        "resources.slots_per_trial.min, line 1",
        "at least 1",
    ),
    (
        "name: digits",
        "resources: {slots_per_trial: {min: 2}}",
        "missing_key",
        "slots_per_trial.max",
        "missing",
    ),
    (
        "name: digits",
        "resources: {slots_per_trial: {min: 1, mix: 2}}",
        "unknown_key",
        "slots_per_trial.mix",
        "min",
    ),
    ("name: digits", "resources: {slots_per_trial: 1.5}", "invalid_value", "slots_per_trial", "part of one"),
    (
        "name: digits",
        "resources: {slots_per_trial: 0.0005}",
        "invalid_value",
        "slots_per_trial",
        "thousandths",
    ),
    ("name: digits", "resources: {slots_per_trial: two}", "invalid_type", "slots_per_trial", "whole number"),
    (
        "name: digits",
        "resources: {max_slots: 1, slots_per_trial: {min: 2, max: 4}}",
        "invalid_value",
        "max_slots",
        "ever start",
    ),
    (
        "name: digits",
        "environment: {environment_variables: [A]}",
        "invalid_value",
        "variables[0]",
        "NAME=VALUE",
    ),
    (
        "name: digits",
        "reproducibility: {experiment_seed: -1}",
        "invalid_value",
        "experiment_seed, line 1",
        "0",
    ),
    (
        "name: digits",
        "checkpoint_storage: {type: s3}",
        "unsupported_key",
        "checkpoint_storage.type",
        "registry",
    ),
    (
        "name: digits",
        "min_checkpoint_period: {batches: 100, minutes: 5}",
        "invalid_value",
        "min_checkpoint_period",
        "batches and minutes",
    ),
]


@pytest.mark.parametrize(("old", "new", "code", "place", "word"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_each_mistake_names_its_place_and_what_to_do(
    old: str, new: str, code: str, place: str, word: str
) -> None:
    assert old in GOOD
    error = refused(GOOD.replace(old, new, 1))
    assert error.code == code
    assert place in (error.place or "")
    assert word in f"{error.message} {error.hint}"


YAML = [
    ("a: &x 1", "invalid_yaml", "anchors"),
    ("a: *x", "invalid_yaml", "aliases"),
    ("a: !!python/object/apply:os.system [ls]", "invalid_yaml", "tag"),
    ("a: !mine 1", "invalid_yaml", "tag"),
    ("a: 1\na: 2", "repeated_key", "twice"),
    ("a: [1, 2", "invalid_yaml", "not YAML"),
    ("a: b: c", "invalid_yaml", "not YAML"),
    ("- a", "invalid_type", "mapping"),
    ("text", "invalid_type", "mapping"),
    ("a: 1\n---\nb: 1", "invalid_yaml", "one document"),
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
            "searcher.max_trials, given by --config searcher.max_trials",
        ),
        ("name=[1", "invalid_yaml", "--config name"),
        ("name=&x y", "invalid_yaml", "--config name"),
    ],
)
def test_an_override_that_is_wrong_is_named(override: str, code: str, place: str) -> None:
    error = refused(GOOD, [override])
    assert (error.code, error.place) == (code, place)


@pytest.mark.parametrize(
    ("searcher", "space", "place", "word"),
    [
        ({"name": "random", "max_trials": 2}, {"lr": 0.1}, "hyperparameters", "nothing to search"),
        ({"name": "grid"}, {}, "hyperparameters", "nothing to search"),
        (
            {"name": "grid"},
            {"a": {"b": {"type": "double", "minval": 0, "maxval": 1}}},
            "hyperparameters.a.b.count",
            "count",
        ),
        (
            {"name": "grid"},
            {k: {"type": "double", "minval": 0, "maxval": 1, "count": 1000} for k in "ab"},
            "hyperparameters",
            "1000000 points",
        ),
        (
            {"name": "single"},
            {"a": {"type": "int", "minval": 0, "maxval": 1}},
            "hyperparameters.a",
            "constants",
        ),
        (
            {"name": "random", "max_trials": 2, "sampler": "cmaes"},
            {
                "a": {"type": "categorical", "vals": [1, 2]},
                "b": {"type": "int", "minval": 0, "maxval": 1, "when": {"a": 1}},
            },
            "searcher.sampler",
            "adapts numbers that every trial has",
        ),
    ],
)
def test_spaces_that_cannot_be_searched(
    searcher: dict[str, object], space: dict[str, object], place: str, word: str
) -> None:
    document = {"entrypoint": "x", "searcher": {"metric": "m", **searcher}, "hyperparameters": space}
    error = refused(document)
    assert error.place == place
    assert word in error.message


@pytest.mark.parametrize(
    ("searcher", "key", "word"),
    [
        ({"name": "pbt", "population_size": 2, "interval": 10}, "interval", "interval (10) must be at most"),
        (
            {"name": "median_stopping", "max_trials": 2, "grace_time": 10},
            "grace_time",
            "at most max_time (9)",
        ),
        (
            {"name": "async_halving", "max_trials": 2, "num_rungs": 1, "time_metric": "m"},
            "time_metric",
            "ranked by",
        ),
        (
            {"name": "async_halving", "max_trials": 2, "num_rungs": 1, "widen_to": 15},
            "widen_to",
            "widen_to (15) must be at least max_concurrent_trials (16)",
        ),
    ],
)
def test_keys_that_undo_each_other_are_refused(searcher: dict[str, object], key: str, word: str) -> None:
    searcher = {"metric": "m", "time_metric": "step", "max_time": 9, **searcher}
    space = {"a": {"type": "int", "minval": 0, "maxval": 1}}
    error = refused({"entrypoint": "x", "searcher": searcher, "hyperparameters": space})
    assert error.place == f"searcher.{key}" and word in error.message


@pytest.mark.parametrize(
    ("distributed", "key", "value"),
    [
        ("torch", "tensor_fusion_cycle_time", "5"),
        ("torch", "auto_tune_tensor_fusion", "true"),
        ("none", "gradient_compression", "true"),
        ("none", "tensor_fusion_threshold", "32"),
    ],
)
def test_what_would_have_no_effect_on_the_exchange_is_refused(distributed: str, key: str, value: str) -> None:
    error = refused(GOOD, [f"distributed={distributed}", f"optimizations.{key}={value}"])
    assert error.place is not None
    assert error.place.startswith(f"optimizations.{key}")
    assert f"distributed: {distributed}" in error.message


def test_a_way_of_training_together_that_is_none_is_refused() -> None:
    assert load_config(GOOD, ["distributed=torch"]).distributed == "torch"
    assert "horovod" in refused(GOOD, ["distributed=mpi"]).message


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
