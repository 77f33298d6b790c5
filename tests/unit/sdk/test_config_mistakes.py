"""Each mistake in a config is refused with its place and what to do."""

import pytest
from pydantic import ValidationError

from muster.config import load_accepted, load_config
from muster.config.small_sections import RetentionPolicy
from tests.unit.sdk.configs import GOOD, refused


def rows(table: str) -> list[list[str]]:
    """A row a line, its cells between bars."""
    return [[cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines()]


MISTAKES = rows("""
unknown_key | nmae, line 1, column 1 | did you mean 'name' | name: digits => nmae: digits
unknown_key | searcher.max_tiem, line 16, column 3 | max_time | max_time: 9 => max_tiem: 9
missing_key | searcher.max_time, line 10, column 1 | missing | max_time: 9 =>
invalid_type | searcher.max_time, line 16, column 3 | whole number | max_time: 9 => max_time: nine
invalid_type | searcher.max_time, line 16, column 3 | whole number | max_time: 9 => max_time: 9.5
invalid_value | searcher.max_time, line 16, column 3 | 1 | max_time: 9 => max_time: 0
invalid_value | hyperparameters.lr.minval, line 4, column 29 | below | minval: -4 => minval: -1
invalid_value | hyperparameters.lr.minval, line 4, column 29 | below | minval: -4 => minval: 1
invalid_value | hyperparameters.lr.maxval, line 4, column 41 | exponent | maxval: -1 => maxval: 900
invalid_value | hyperparameters.lr.base, line 4, column 19 | base | base: 10 => base: 1
missing_key | hyperparameters.lr.base, line 4, column 3 | missing | base: 10, =>
invalid_value | hyperparameters.lr, line 4, column 3 | categorical | type: log => type: lgo
invalid_value | hyperparameters.layers.act.vals, line 7 | short | vals: [relu, tanh] => vals: []
invalid_type | hyperparameters.layers.width.minval | whole number | minval: 8 => minval: true
unknown_key | hyperparameters.layers.width.minvl | minval | minval: 8 => minvl: 8
invalid_value | entrypoint, line 2, column 1 | script | python3 train.py => model:Trial
invalid_value | entrypoint, line 2, column 1 | empty | python3 train.py => ''
invalid_value | entrypoint, line 2, column 1 | strings | python3 train.py => [1]
invalid_type | name, line 1, column 1 | text | name: digits => name: 5
invalid_value | constraints[0] | did you mean 'layers.width'? | name: digits => constraints: [layers.widht > 1]
invalid_value | project | must be set together | name: digits => workspace: w
invalid_value | profiling.end_after_batch, line 1 | no step would be measured | name: digits => profiling: {begin_on_batch: 9, end_after_batch: 5}
invalid_value | resources.required_labels.rack, line 1 |  | name: digits => resources: {required_labels: {rack: r 7}}
invalid_value | preferred_labels.rack | both required and preferred | name: digits => resources: {required_labels: {rack: r7}, preferred_labels: {rack: r8}}
invalid_value | resources.priority, line 1 | 0 is not between 1 (first) and 99 (last) | name: digits => resources: {priority: 0}
invalid_value | resources.weight, line 1 | 2000000 is not above 0 and at most 1000000 | name: digits => resources: {weight: 2000000}
invalid_value | max_slots | no trial could start | name: digits => resources: {max_slots: 1, slots_per_trial: 2}
invalid_value | resources.slots_per_trial.min, line 1, column 31 | above max | name: digits => resources: {slots_per_trial: {min: 4, max: 2}}
invalid_value | resources.slots_per_trial.min, line 1 | at least 1 | name: digits => resources: {slots_per_trial: {min: 0, max: 2}}
missing_key | slots_per_trial.max | missing | name: digits => resources: {slots_per_trial: {min: 2}}
unknown_key | slots_per_trial.mix | min | name: digits => resources: {slots_per_trial: {min: 1, mix: 2}}
invalid_value | slots_per_trial | a fraction of one slot | name: digits => resources: {slots_per_trial: 1.5}
invalid_value | slots_per_trial | more than three decimals | name: digits => resources: {slots_per_trial: 0.0005}
invalid_type | slots_per_trial | whole number | name: digits => resources: {slots_per_trial: two}
invalid_value | max_slots | no trial could start | name: digits => resources: {max_slots: 1, slots_per_trial: {min: 2, max: 4}}
invalid_value | experiment_seed, line 1 | 0 | name: digits => reproducibility: {experiment_seed: -1}
invalid_value | environment.environment_variables[1], line 1 | MUSTER_TOKEN is set by Muster remove it | name: digits => environment: {environment_variables: [A=1, MUSTER_TOKEN=x]}
invalid_value | environment.environment_variables[0], line 1 | HOROVOD_LOCAL_RANK is set by Muster remove it | name: digits => environment: {environment_variables: [HOROVOD_LOCAL_RANK=0]}
invalid_value | min_checkpoint_period | batches and minutes | name: digits => min_checkpoint_period: {batches: 100, minutes: 5}
""")
"""Code, place, a word of the message or hint, and the mistake: what stands in a good config => what is written there."""


@pytest.mark.parametrize(("code", "place", "word", "mistake"), MISTAKES, ids=[row[-1] for row in MISTAKES])
def test_each_mistake_names_its_place_and_what_to_do(code: str, place: str, word: str, mistake: str) -> None:
    right, wrong = mistake.split(" =>")
    assert right in GOOD
    error = refused(GOOD.replace(right, wrong.strip(), 1))
    assert error.code == code
    assert place in (error.place or "")
    assert word in f"{error.message} {error.hint}"


SEARCHERS = rows("""
name | the key 'name' is missing choose from single, | {metric: m}
name | unknown searcher 'hyperopt' choose from single, | {name: hyperopt, metric: m}
name | did you mean 'adaptive_asha'? | {name: adaptive_sha, metric: m}
 | must be a mapping e.g. {name: | random
interval | interval (10) must be at most max_time (9) | {name: pbt, population_size: 2, interval: 10, TIMED}
grace_time | at most max_time (9) | {name: median_stopping, max_trials: 2, grace_time: 10, TIMED}
min_trials | (4) must be below max_trials (4) | {name: median_stopping, max_trials: 4, min_trials: 4, TIMED}
time_metric | ranks trials | {name: async_halving, max_trials: 2, num_rungs: 1, metric: m, time_metric: m, max_time: 9}
widen_to | (15) must be at least max_concurrent_trials (16) | {name: random, max_trials: 2, widen_to: 15, metric: m}
num_rungs | max_time (9) is too short for 10 rungs | {name: async_halving, max_trials: 2, num_rungs: 10, TIMED}
bracket_rungs[1] | too short for 10 rungs | {name: adaptive_asha, max_trials: 2, bracket_rungs: [2, 10], TIMED}
warm_start.points[0].a | valid values: whole numbers from 0 to 1 | {name: random, max_trials: 2, metric: m, warm_start: {points: [{a: 5}]}}
sampler.population_size | population_size applies to nsga2 and cmaes | {name: random, max_trials: 2, metric: m, sampler: {name: gp, population_size: 5}}
""")
"""The key of the searcher, words of message and hint, the searcher."""


@pytest.mark.parametrize(("key", "words", "searcher"), SEARCHERS, ids=[row[-1] for row in SEARCHERS])
def test_keys_of_a_searcher_that_undo_each_other_are_refused(key: str, words: str, searcher: str) -> None:
    searcher = searcher.replace("TIMED", "metric: m, time_metric: step, max_time: 9")
    error = refused(
        f"entrypoint: x\nhyperparameters: {{a: {{type: int, minval: 0, maxval: 1}}}}\nsearcher: {searcher}"
    )
    assert (error.place or "").startswith(f"searcher.{key}, line 3" if key else "searcher, line 3")
    assert words in f"{error.message} {error.hint}"


SPACES = rows("""
hyperparameters | nothing to search | name: random, max_trials: 2 | lr: 0.1
hyperparameters | nothing to search | name: grid | a: 1
hyperparameters.a.b.count | count | name: grid | a: {b: {type: double, minval: 0, maxval: 1}}
hyperparameters | 1000000 points | name: grid | a: &A, b: &A
searcher.sampler | at least one numeric hyperparameter that is always active | name: random, max_trials: 2, sampler: cmaes | \
    a: {type: categorical, vals: [1, 2]}, b: {type: int, minval: 0, maxval: 1, when: {a: 1}}
""")
"""Place, a word, the searcher, the space."""


@pytest.mark.parametrize(("place", "word", "searcher", "space"), SPACES, ids=[row[1] for row in SPACES])
def test_spaces_that_cannot_be_searched(place: str, word: str, searcher: str, space: str) -> None:
    space = space.replace("&A", "{type: double, minval: 0, maxval: 1, count: 1000}")
    error = refused(f"entrypoint: x\nsearcher: {{metric: m, {searcher}}}\nhyperparameters: {{{space}}}")
    assert (error.place or "").partition(", line")[0] == place
    assert word in error.message


def test_one_wrong_key_is_not_counted_once_more_for_each_default_that_follows_from_it() -> None:
    searcher = "{name: median_stopping, metric: m, time_metric: step, max_time: x, max_trials: 4}"
    error = refused(
        f"entrypoint: x\nhyperparameters: {{a: {{type: int, minval: 0, maxval: 1}}}}\nsearcher: {searcher}"
    )
    assert error.message == "this must be a whole number"


def test_a_config_that_was_accepted_is_read_whatever_rules_came_later() -> None:
    now_refused = GOOD + "  max_concurrent_trials: 16\n  widen_to: 8\n"
    assert "widen_to" in (refused(now_refused).place or "")
    accepted = load_accepted(now_refused)
    assert accepted.searcher == load_config(GOOD).searcher.model_copy(update={"widen_to": 8})
    assert load_accepted(accepted.to_json()) == accepted


def test_a_section_that_was_accepted_is_read_whatever_rules_came_later() -> None:
    kept = RetentionPolicy.of_accepted({"metric_retention_days": 0})
    assert kept.metric_retention_days == 0 and RetentionPolicy.of_accepted(None) == RetentionPolicy()
    with pytest.raises(ValidationError):
        RetentionPolicy.of_accepted({"metric_retention_days": "many"})


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
