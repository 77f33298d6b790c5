"""Searches: the searcher's own core makes, judges and stops trials; each ends as its rule says, whatever fails; and the net catches fish."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from muster.config import load_config
from services.searcher.core.experiment.entities import TrialRecord
from services.searcher.core.methods.asha import StoppingBracket
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.validations import on_validation
from services.searcher.core.samplers import make_sampler
from services.searcher.core.samplers.drawing import Stream
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.faults import Fault
from simulator.files.schema import Cluster, Policy
from simulator.observers.invariant import InvariantViolation
from simulator.run_workload import simulate
from tests.simulation.worlds import EVERY_FAULT, world
from tests.support.drill_share import examples

HOURS_MS = 3_600_000
TWO_SLOTS = Cluster.model_validate({"machines": [{"slots": 2}]})


def submission(searcher: dict[str, object], learning: Learning, **resources: object) -> Submission:
    config = load_config(
        {
            "entrypoint": "python3 train.py",
            "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
            "searcher": {"metric": "loss", **searcher},
            "resources": resources,
        }
    )
    return Submission("search", config, learning, launch_ms=0)


@pytest.mark.parametrize("seed", range(examples(10, 200)))
def test_every_search_ends_as_its_rule_says_whatever_fails(seed: int) -> None:
    world(seed, EVERY_FAULT, count=12, searches=2).end(after_ms=12 * HOURS_MS)


@pytest.mark.parametrize("fault", ["searcher_died", "search_steered", "bus_down", "database_down"])
def test_a_search_survives_one_thing_that_fails_again_and_again(fault: Fault) -> None:
    for seed in (300, 301):
        world(seed, [fault], count=8, searches=2).end(after_ms=12 * HOURS_MS)


@pytest.mark.parametrize("seed", range(600, 606))
def test_searches_whose_trials_wait_for_each_other_or_are_copied_end_whatever_fails(seed: int) -> None:
    world(seed, EVERY_FAULT, count=12, searches=2, methods=("hyperband", "pbt")).end(after_ms=24 * HOURS_MS)


def test_trials_of_a_random_search_run_two_at_a_time() -> None:
    random = {"name": "random", "max_trials": 4, "max_concurrent_trials": 2}
    asked = submission(random, Learning(steps=10, step_ms=10_000))
    found = simulate(Policy(), TWO_SLOTS, [], submissions=[asked], is_checked=True).result.experiments[0]
    assert (found.state, found.trials, found.full, found.steps) == ("completed", 4, 4, 40)
    assert found.took_s == pytest.approx(200, abs=3)
    assert found.slot_hours * 3600 == pytest.approx(400, abs=6)


def test_a_trial_that_is_not_among_the_best_of_its_rung_trains_no_further() -> None:
    halving = {"name": "async_halving", "max_trials": 12, "max_concurrent_trials": 1, "num_rungs": 2}
    halving |= {"time_metric": "step", "max_time": 9, "divisor": 3}
    learning = Learning(steps=9, step_ms=10_000, first=1.0, best=0.1, worst=0.9)
    asked = submission(halving, learning, slots_per_trial=2)
    sampler = make_sampler(asked.config, 0)
    curves = [asked.landscape.curve(sampler.propose(number).point, number) for number in range(1, 13)]
    early: list[float] = []
    steps = 0
    for curve in curves:
        early.append(curve.values(3)["loss"])
        best = sorted(early)[: max(1, len(early) // 3)]
        steps += 9 if early[-1] in best else 3
    found = simulate(Policy(), TWO_SLOTS, [], submissions=[asked], is_checked=True).result.experiments[0]
    assert found.steps == steps and found.full + found.stopped == found.trials == 12
    assert found.took_s == pytest.approx(10 * steps, rel=0.1)


def test_a_search_with_several_metrics_and_limits_is_simulated_to_its_end() -> None:
    aims = {"metric": None, "metrics": [{"name": "accuracy"}, {"name": "size"}], "limits": ["latency <= 20"]}
    halving = {
        "name": "async_halving",
        "max_trials": 8,
        "num_rungs": 2,
        "max_time": 9,
        "time_metric": "epochs",
    }
    asked = submission({**halving, **aims, "sampler": "tpe"}, Learning(steps=9, step_ms=10_000))
    found = simulate(Policy(), TWO_SLOTS, [], submissions=[asked], is_checked=True).result.experiments[0]
    assert (found.state, found.trials) == ("completed", 8)


def test_hyperband_trains_what_its_brackets_say() -> None:
    """17 trials in brackets of 9, 5 and 3: nine steps of one, of three, and of nine."""
    hyperband = {"name": "hyperband", "max_time": 9, "time_metric": "step", "max_concurrent_trials": 4}
    asked = submission(hyperband, Learning(steps=9, step_ms=10_000))
    found = simulate(Policy(), TWO_SLOTS, [], submissions=[asked], is_checked=True).result.experiments[0]
    assert (found.state, found.trials, found.full) == ("completed", 17, 1 + 1 + 3)
    assert found.steps == (9 + 3 * 2 + 6) + (5 * 3 + 6) + 3 * 9


def test_a_population_trains_as_long_as_its_members_alone_and_comes_further() -> None:
    """Copies begin where the checkpoint of their source is: a member has sixty steps in all, and those between a checkpoint and a mark."""
    pbt = {"name": "pbt", "population_size": 6, "max_time": 60, "interval": 6, "time_metric": "step"}
    pbt |= {"max_concurrent_trials": 2}
    learning = Learning(steps=60, step_ms=10_000, first=1.0, best=0.1, worst=0.9)
    alone = {"name": "random", "max_trials": 6}
    results = []
    for searcher in (pbt, alone):
        asked = replace(submission(searcher, learning), checkpoint_ms=20_000)
        results.append(
            simulate(Policy(), TWO_SLOTS, [], submissions=[asked], is_checked=True).result.experiments[0]
        )
    shared, single = results
    assert shared.state == "completed" and shared.trials > 6
    assert single.steps == 360 and 300 <= shared.steps <= 420 and shared.stopped > 5
    assert shared.best is not None and single.best is not None and shared.best < single.best


def test_searches_of_equal_seeds_are_equal_and_of_others_are_not() -> None:
    random = {"name": "random", "max_trials": 3, "max_concurrent_trials": 0}
    asked = submission(random, Learning(steps=5, noise=0.1, spread=0.3))
    digests = [
        simulate(Policy(), TWO_SLOTS, [], submissions=[replace(asked, seed=seed)]).result.digest
        for seed in (1, 1, 2)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_bracket_that_keeps_everybody_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    insert = StoppingBracket._insert
    monkeypatch.setattr(
        StoppingBracket, "_insert", lambda self, rung, value: insert(self, rung, value) or True
    )
    searches_fail("closed trials agree with the rule")


def test_a_search_without_a_limit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two rooms keep it: a method asks for no more than there are places, and a search makes no more than it may.
    monkeypatch.setattr("services.searcher.core.methods.factory.initial_trials", lambda *told: 1000)
    monkeypatch.setattr("services.searcher.core.search.search.max_concurrency", lambda config: 1000)
    searches_fail("max_concurrent_trials kept")


def test_a_trial_that_is_judged_before_its_rung_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def eagerly(changes: Changes, trial: TrialRecord, reading: Any) -> bool:
        return changes.is_ongoing and trial.decide_at is not None

    monkeypatch.setattr("services.searcher.core.reducers.validations._is_due", eagerly)
    searches_fail("each verdict once")


def test_a_search_that_judges_stale_validations_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    heedless = lambda changes, result: on_validation(changes, replace(result, is_stale=False))  # noqa: E731
    monkeypatch.setattr("simulator.searching.searcher_events.on_validation", heedless)
    searches_fail("no stale validation judged", faults=["worker_cut_off"], first=21)


def test_a_search_that_its_journal_does_not_repeat_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(range(10_000))
    monkeypatch.setattr(Stream, "seed", lambda self: next(drawn))
    searches_fail("a journal repeats its search")


def searches_fail(words: str, faults: Iterable[Fault] = (), first: int = 0) -> None:
    def run_all() -> None:
        for seed in range(first, first + 60):
            world(seed, faults, searches=3).end(after_ms=2 * HOURS_MS)

    with pytest.raises(InvariantViolation, match=re.escape(words)):
        run_all()
