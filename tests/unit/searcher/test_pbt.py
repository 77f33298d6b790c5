"""Population-based training: who gives way to whom, from which checkpoint, and that the end is reached whatever is lost."""

import json
import math
import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings, strategies as st

from muster.config import leaves
from muster.errors import Rejected
from services.searcher.core.experiment.entities import Outcome, TrialCheckpoint, TrialRecord
from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.journal.replay import fold, recompute, replay
from services.searcher.core.reducers.checkpoints import on_checkpoint
from services.searcher.core.reducers.events import CheckpointReport
from services.searcher.core.search.search import Search
from services.searcher.core.search.state import restore_state, save_state
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.world import SEED, World, config, pbt, run_search

MIXED: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "depth": {"type": "int", "minval": 1, "maxval": 9},
    "batch": {"type": "categorical", "vals": [32, 64, 128]},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64, "step": 8}},
}
Chaos = st.builds(random.Random, st.integers(0, 10**6))
OUTCOMES: tuple[Outcome, ...] = ("failed", "completed", "cancelled", "invalid")


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


def copies(world: World) -> list[TrialRecord]:
    return [trial for trial in world.trials.values() if trial.source is not None]


def advance(world: World, number: int, steps: Iterable[int], value: float) -> None:
    if world.trials[number].state is TrialState.QUEUED:
        world.grant(number)
    for step in steps:
        world.validate(number, step, value)


@settings(max_examples=60, deadline=None)
@given(
    chaos=Chaos,
    fates=st.dictionaries(st.integers(1, 30), st.sampled_from(OUTCOMES), max_size=8),
    population=st.integers(2, 7),
    places=st.integers(0, 5),
    saves_every=st.integers(0, 4),
)
def test_contract(
    chaos: random.Random,
    fates: dict[int, Outcome],
    population: int,
    places: int,
    saves_every: int,
) -> None:
    """The end is reached, no point is outside the space, places are kept, every copy has a checkpoint, and a replay agrees."""
    chosen = config(pbt(population, concurrent=places), MIXED)
    world = World(chosen)
    run_search(world, loss, chaos=chaos, max_step=20, fates=fates, saves_every=saves_every)
    assert world.experiment.is_final and world.search.is_exhausted
    assert world.most_open <= (places or population)
    made = sum(trial.state is not TrialState.INVALID for trial in world.trials.values())
    assert population <= made == world.experiment.planned == world.search.planned()
    assert made <= population * 4, "no member has more trials than marks"
    for trial in copies(world):
        source = world.trials[trial.source or 0]
        assert trial.start_checkpoint is not None and trial.start_checkpoint.int >> 32 == source.number
    for trial in world.trials.values():
        check_point(trial)
    assert replay(chosen, SEED, world.journal) is None
    seen = [decision.experiment.progress for decision in world.decisions]
    assert seen == sorted(seen) and seen[-1] <= 1


def check_point(trial: TrialRecord) -> None:
    point = trial.point
    assert isinstance(lr := point["lr"], float) and 1e-4 <= lr <= 0.1
    assert point["depth"] in range(1, 10) and point["batch"] in (32, 64, 128)
    assert isinstance(net := point["net"], dict) and net["width"] in range(8, 65, 8)
    assert ("momentum" in point) == (point["optimizer"] == "sgd")
    assert point.get("momentum", 0.0) in [round(tenth / 10, 12) for tenth in range(10)]


@settings(max_examples=30, deadline=None)
@given(chaos=Chaos, cut=st.integers(0, 200), places=st.integers(0, 3))
def test_a_search_rebuilt_at_any_entry_has_the_same_future(
    chaos: random.Random, cut: int, places: int
) -> None:
    chosen = config(pbt(concurrent=places, sampler="tpe"), MIXED)
    world = World(chosen)
    run_search(world, loss, chaos=chaos, max_step=20, saves_every=2)
    rebuilt = Search(chosen, SEED)
    fold(rebuilt, world.journal[:cut])
    for entry in world.journal[cut:]:
        decided = recompute(rebuilt, entry)
        assert decided == {key: entry.facts[key] for key in decided}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), places=st.integers(0, 3), chance=Chaos)
def test_a_search_that_takes_up_its_state_has_the_same_future(
    seed: int, places: int, chance: random.Random
) -> None:
    def restart(world: World) -> None:
        if chance.random() < 0.1:
            state = json.loads(json.dumps(save_state(world.search)))
            world.search = Search(world.config, SEED)
            restore_state(world.search, state)

    chosen = config(pbt(concurrent=places), MIXED)
    whole, broken = World(chosen), World(chosen)
    run_search(whole, loss, chaos=random.Random(seed), max_step=20, saves_every=2)
    run_search(broken, loss, chaos=random.Random(seed), max_step=20, saves_every=2, between=restart)
    assert broken.journal == whole.journal and broken.trials == whole.trials


def test_the_worst_gives_way_to_a_copy_of_the_best_from_its_newest_checkpoint() -> None:
    world = World(config(pbt(4), MIXED))
    world.begin()
    for number in (1, 2, 3, 4):
        advance(world, number, (1, 2), 9.0)
    for number, value in ((1, 0.1), (2, 0.2), (3, 0.3)):
        world.save(number, 2)
        advance(world, number, (3,), value)
    world.save(1, 3)
    world.validate(4, 3, 0.4)
    assert world.decisions[-1].judged[0].verdict == "stop"
    world.obey(4)
    made = world.trials[5]
    assert (made.source, world.started_at(5), made.decide_at) == (1, 3, 6)
    assert made.point != world.trials[1].point, "the copy is changed"
    assert world.trials[4].state is TrialState.STOPPED
    assert not world.trials[5].is_final and len(copies(world)) == 1


def test_nobody_gives_way_while_nothing_can_be_copied() -> None:
    world = World(config(pbt(2)))
    world.begin()
    advance(world, 1, (3,), 0.1)
    advance(world, 2, (3,), 0.9)
    assert world.decisions[-1].judged[0].verdict == "go_on"


def test_a_trial_without_a_checkpoint_pauses_so_that_it_saves_one_and_only_once() -> None:
    world = World(config(pbt(2, max_time=30)))
    world.begin()
    advance(world, 1, (3,), 0.1)
    assert world.validate(1, 6, 0.1).judged[0].verdict == "pause"
    world.obey(1)
    assert (world.trials[1].desired_state, world.trials[1].request) == (DesiredState.RUN, 2), (
        "it has its place again"
    )
    for step in (9, 12, 15):
        advance(world, 1, (step,), 0.1)
        assert world.decisions[-1].judged[0].verdict == "go_on", "asked once in vain"


def test_with_fewer_places_than_members_these_take_turns() -> None:
    world = World(config(pbt(3, concurrent=1)))
    order: list[int] = []
    world.begin()
    for _ in range(6):
        (trial,) = world.open()
        order.append(trial.number)
        mark = trial.decide_at
        assert mark is not None
        advance(world, trial.number, (int(mark),), 0.5)
        world.save(trial.number, int(mark))
        world.obey(trial.number)
    assert order == [1, 2, 3, 3, 1, 2], "one that nobody behind it waits for goes on"


def test_one_that_paused_is_judged_by_what_came_meanwhile_before_it_goes_on() -> None:
    world = World(config(pbt(3, concurrent=1)))
    world.begin()
    for number, value in ((1, 0.9), (2, 0.5), (3, 0.1)):
        advance(world, number, (3,), value)
        world.save(number, 3)
        world.obey(number)
    advance(world, 3, (6,), 0.1)
    world.save(3, 6)
    world.obey(3)
    made = world.trials[4]
    assert (made.source, world.started_at(4), made.decide_at) == (3, 6, 9), "in the stead of trial 1"
    assert world.trials[1].state == "parked"
    run_search(world, loss, chaos=random.Random(1), max_step=20)
    assert world.trials[1].state == "stopped"
    assert world.experiment.state is ExperimentState.COMPLETED


def test_a_trial_that_fails_is_followed_by_a_copy_of_one_of_the_best_and_before_any_result_by_a_new_point() -> (
    None
):
    world = World(config(pbt(2)))
    world.begin()
    world.grant(1)
    world.close(1, "failed")
    assert world.trials[3].source is None
    advance(world, 2, (3,), 0.5)
    world.save(2, 3)
    world.close(3, "failed")
    assert (world.trials[4].source, world.started_at(4)) == (2, 3)


def test_a_checkpoint_that_turns_out_to_be_no_good_is_copied_no_more() -> None:
    world = World(config(pbt(2)))
    world.begin()
    advance(world, 1, (3,), 0.1)
    world.save(1, 2)
    world.save(1, 3)
    newest = world.trials[1].checkpoint
    assert newest is not None and newest.step == 3
    lost = TrialCheckpoint(newest.id, newest.run, newest.step, is_good=False)
    world.apply(lambda changes: on_checkpoint(changes, CheckpointReport(1, lost)), 1)
    assert world.trials[1].checkpoint is None
    assert world.trials[1].settled == (1, 2), "it is counted once"


def test_what_is_kept_is_taken_over_unchanged() -> None:
    chosen = config(pbt(4, max_time=60, keep=["net.width", "batch"]), MIXED)
    world = World(chosen)
    run_search(world, loss, chaos=random.Random(2), max_step=60, saves_every=1)
    assert len(copies(world)) > 3
    for trial in copies(world):
        source = world.trials[trial.source or 0]
        assert (trial.point["net"], trial.point["batch"]) == (source.point["net"], source.point["batch"])
        assert trial.point["lr"] != source.point["lr"]


def test_a_population_gets_better_than_its_members_were_drawn() -> None:
    """A metric that falls fast only where the learning rate is near 0.01, which few are drawn near."""

    def learned(world: World) -> float:
        losses: dict[int, float] = {}

        def step_of(trial: int, step: int) -> float:
            made = world.trials[trial]
            if trial not in losses:
                losses[trial] = losses[made.source] if made.source else 10.0
            lr = made.point["lr"]
            assert isinstance(lr, float)
            losses[trial] *= 1 - 0.2 * math.exp(-abs(math.log10(lr) + 2))
            return losses[trial]

        run_search(world, step_of, chaos=random.Random(5), saves_every=1)
        return min(losses.values())

    alone = learned(World(config(pbt(8, max_time=60, interval=60))))
    assert learned(World(config(pbt(8, max_time=60, interval=3)))) < 0.8 * alone


def test_a_population_of_trials_that_all_fail_comes_to_an_end() -> None:
    world = World(config(pbt(3, max_time=9)))
    run_search(world, loss, chaos=random.Random(1), fates=dict.fromkeys(range(1, 100), "failed"))
    assert world.experiment.state is ExperimentState.ERROR
    assert len(world.trials) == 9


@pytest.mark.parametrize(
    ("searcher", "key"),
    [
        (pbt(keep=["width"]), "searcher.keep[0]"),
        (pbt(keep=["lr"]), "searcher.keep"),
        (pbt(1), "searcher.population_size"),
        (pbt(truncate_fraction=0.6), "searcher.truncate_fraction"),
        (pbt(num_rounds=4), "searcher.num_rounds"),
        (pbt(max_trials=4), "searcher.max_trials"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_key(searcher: dict[str, object], key: str) -> None:
    with pytest.raises(Rejected) as found:
        config(searcher)
    assert key in str(found.value)


def test_the_space_has_what_is_looked_at() -> None:
    assert len(list(leaves(config(pbt(), MIXED).hyperparameters))) == 6
