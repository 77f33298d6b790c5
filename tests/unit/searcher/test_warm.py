"""What a search knows before its first trial: points to try first, and what earlier trials came to."""

import math
import random
from typing import Any

import pytest

from muster.config import ExperimentConfig
from services.searcher.core.experiment.objectives import Scores
from services.searcher.core.journal.replay import fold, replay
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.reducers.submissions import Submitted, on_submission
from services.searcher.core.search.prior_observations import (
    MAX_PRIOR_TRIALS,
    NO_PRIOR_OBSERVATIONS,
    PriorExperiment,
    PriorObservations,
    PriorTrial,
    select_prior_observations,
)
from services.searcher.core.search.search import Search
from tests.unit.searcher.cases import MIXED
from tests.unit.searcher.world import SEED, World, adaptive, asha, config, median, run_search, stored

SGD: dict[str, Any] = {"lr": 0.01, "optimizer": "sgd", "momentum": 0.3, "net": {"width": 16}}
ADAM: dict[str, Any] = {"lr": 0.001, "optimizer": "adam", "net": {"width": 64}}
SEARCHERS = {
    "random": {"name": "random", "max_trials": 6, "max_concurrent_trials": 2},
    "async_halving": asha(max_trials=9),
    "async_halving by promotion": asha(max_trials=9, stop_once=False),
    "adaptive_asha": adaptive(max_trials=12, max_time=16),
    "median_stopping": median(max_trials=8),
}
LEARNING = ("tpe", "gp", "cmaes", "nsga2")


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


def warm(searcher: dict[str, Any], **known: Any) -> ExperimentConfig:
    return config(searcher | {"warm_start": known}, MIXED)


def point(index: int) -> dict[str, Any]:
    return {"lr": 10 ** -(1.5 + index % 20 / 10), "optimizer": "adam", "net": {"width": 8 + 8 * (index % 8)}}


def known(count: int, experiment: int = 12, time: float | None = None) -> tuple[PriorTrial, ...]:
    return tuple(PriorTrial(experiment, n, point(n), abs(n - count / 2), time) for n in range(1, count + 1))


def earlier(
    trials: tuple[PriorTrial, ...], metric: str = "loss", time_metric: str | None = "step"
) -> PriorExperiment:
    return PriorExperiment(12, metric, time_metric, trials)


@pytest.mark.parametrize("name", SEARCHERS)
def test_given_points_are_tried_first_by_every_method(name: str) -> None:
    world = World(warm(SEARCHERS[name], points=[SGD, ADAM]))
    run_search(world, loss, chaos=random.Random(1), max_step=16)
    assert [world.trials[number].point for number in (1, 2)] == [SGD, ADAM]
    assert all(trial.point not in (SGD, ADAM) for number, trial in world.trials.items() if number > 2)
    assert len(world.trials) == world.search.planned()
    assert replay(world.config, SEED, stored(world.journal)) is None


@pytest.mark.parametrize("sampler", LEARNING)
@pytest.mark.parametrize("name", ["random", "async_halving"])
def test_a_warm_search_that_is_rebuilt_at_any_event_has_the_same_future(name: str, sampler: str) -> None:
    """Of what is known there is more than one entry of the journal holds; for `gp`, which fits a model to all of it at each trial, less."""
    chosen = warm(SEARCHERS[name] | {"sampler": sampler}, points=[SGD], experiments=[12], best=1)
    entries, count, often = (1, 16, 0.1) if sampler == "gp" else (2, 120, 0.3)
    prior = PriorObservations((ADAM,), known(count) + known(4, time=3.0))
    worlds = World(chosen), World(chosen)
    for world, restarts in zip(worlds, (0.0, often), strict=True):
        chance = random.Random(5)
        world.apply(lambda changes: on_submission(changes, Submitted(prior)))
        run_search(
            world, loss, chaos=random.Random(3), max_step=16,
            between=lambda world, chance=chance, share=restarts: (  # type: ignore[misc]
                world.restart() if chance.random() < share else None
            ),
        )  # fmt: skip
    whole, broken = worlds
    assert [entry.kind for entry in whole.journal[: entries + 1]] == [*["warm_started"] * entries, "started"]
    assert broken.journal == whole.journal
    assert replay(chosen, SEED, stored(whole.journal)) is None
    assert [whole.trials[number].point for number in (1, 2)] == [SGD, ADAM]


@pytest.mark.parametrize("sampler", LEARNING)
def test_a_sampler_goes_by_what_earlier_trials_came_to(sampler: str) -> None:
    """Many earlier trials say that a learning rate near 0.01 is best: proposals are nearer to it than they would be."""
    space = {name: MIXED[name] for name in ("lr", "net")}
    trials = 4 if sampler == "gp" else 12
    searcher = {"name": "random", "max_trials": trials, "sampler": sampler, "max_concurrent_trials": 1}
    chosen = config(searcher, space)
    points: list[Any] = [
        {"lr": 10 ** -(1 + 3 * n / 100), "net": {"width": 32}} for n in range(1, 100, 12 // trials)
    ]
    experience = PriorObservations(
        known=tuple(PriorTrial(12, n, point, far(point)) for n, point in enumerate(points, 1))
    )
    distances = []
    for prior in (experience, NO_PRIOR_OBSERVATIONS):
        search, found = Search(chosen, SEED), []
        search.add_prior_observations(prior)
        actions = search.start()
        while actions.created:
            (made,) = actions.created
            found.append(far(made.point))
            search.observe(made.number, Scores(found[-1]))
            actions = search.on_ended(made.number, TrialEnding.FINISHED)
        distances.append(sum(found))
    assert distances[0] < distances[1]


def far(point: Any) -> float:
    """By how many powers of ten its learning rate misses 0.01."""
    return abs(math.log10(point["lr"]) + 2)


def test_trials_serve_where_their_points_fit() -> None:
    trials = (
        PriorTrial(12, 1, SGD | {"seed_of_old": 3}, 0.5),
        PriorTrial(12, 2, ADAM | {"lr": 5.0}, 0.1),
        PriorTrial(12, 3, {"lr": 0.01, "optimizer": "adam"}, 0.1),
        PriorTrial(12, 4, ADAM, math.nan),
        PriorTrial(12, 5, ADAM, 0.4),
        PriorTrial(12, 6, ADAM, 0.3),
    )
    chosen = warm(asha(sampler="tpe"), experiments=[12], best=2)
    found, notes = select_prior_observations(chosen, [earlier(trials)], learns=True)
    assert notes == ()
    assert [(each.trial, each.point) for each in found.known] == [(6, ADAM), (5, ADAM), (1, SGD)]
    assert found.points == (ADAM, SGD), "the best first, each point once"


def test_several_metrics_and_limits_are_learned_from_where_all_were_reported() -> None:
    aims = {
        "metric": None,
        "smaller_is_better": None,
        "metrics": [{"name": "loss"}, {"name": "size"}],
        "limits": ["ms <= 9"],
    }
    chosen = warm(asha(sampler="nsga2") | aims, experiments=[12], best=1)
    trials = tuple(
        PriorTrial(12, n, ADAM | {"lr": 0.001 * n}, 1.0 / n, None, others)
        for n, others in enumerate(({"size": 1, "ms": 5, "old": 2}, {"size": 2}, {"size": 3, "ms": 12}), 1)
    )
    found, _ = select_prior_observations(chosen, [earlier(trials)], learns=True)
    assert [(each.trial, each.others) for each in found.known] == [
        (3, {"size": 3, "ms": 12}),
        (1, {"size": 1, "ms": 5}),
    ]
    assert found.points == (ADAM,), "the better one misses a limit"
    search = Search(chosen, SEED)
    search.add_prior_observations(found)
    assert search.start().created[0].point == ADAM


def test_what_serves_for_nothing_is_said() -> None:
    chosen = warm(asha(), experiments=[12])
    _, notes = select_prior_observations(
        chosen,
        [earlier(known(2), metric="accuracy"), earlier((PriorTrial(12, 1, {"lr": 1}, 0.5),))],
        learns=False,
    )
    assert notes == (
        "experiment 12 optimized 'accuracy' instead of 'loss': its trials are ignored",
        "experiment 12 has no trial whose results fit this space and its metrics",
        "the sampler 'random' ignores earlier experiments: choose another sampler, or set 'best'",
    )


def test_trials_that_were_stopped_serve_where_time_is_counted_alike_and_are_not_tried_first() -> None:
    stopped = earlier(known(3, time=4.0), time_metric="epochs")
    for searcher, serves in ((asha(sampler="tpe"), 0), (SEARCHERS["random"] | {"sampler": "tpe"}, 3)):
        found, _ = select_prior_observations(warm(searcher, experiments=[12], best=3), [stopped], learns=True)
        assert (len(found.known), found.points) == (serves, ())


def test_no_more_are_told_than_a_sampler_bears_those_that_came_furthest_first() -> None:
    trials = known(MAX_PRIOR_TRIALS, experiment=11, time=1.0) + known(40)
    found, _ = select_prior_observations(
        warm(asha(sampler="tpe"), experiments=[11, 12]), [earlier(trials)], learns=True
    )
    assert len(found.known) == MAX_PRIOR_TRIALS
    assert all(each.time is None for each in found.known[:40])


def test_a_search_without_anything_known_writes_nothing_of_it() -> None:
    world = World(config(asha()))
    world.begin()
    assert [entry.kind for entry in world.journal] == ["started"]
    rebuilt = Search(world.config, SEED)
    fold(rebuilt, world.journal)
    assert rebuilt.created == world.search.created
