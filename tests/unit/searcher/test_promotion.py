"""ASHA by promotion, held against a plain reading of its algorithm; and what a person's pause has to do with the search's own."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.methods.interface import ResumeTrial, TrialEnding
from services.searcher.core.methods.promotion import PromotionBracket
from services.searcher.core.reducers.commands import cancel, pause, resume
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.world import World, asha, config, run_search

TARGETS, DIVISOR = (1, 3, 9), 3


@dataclass
class Plain:
    """Algorithm 2 of the paper, with lists of everything: rungs hold (value, trial) as they came, a job is asked for by every free place."""

    max_trials: int
    rungs: list[list[tuple[float, int]]] = field(default_factory=lambda: [[], [], []])
    promoted: list[set[int]] = field(default_factory=lambda: [set(), set(), set()])
    created: int = 0

    def job(self, parked: set[int]) -> int | None:
        for rung in (1, 0):
            best = sorted(self.rungs[rung], key=lambda came: came[0])[: len(self.rungs[rung]) // DIVISOR]
            for _, trial in best:
                if trial not in self.promoted[rung] and trial in parked:
                    self.promoted[rung].add(trial)
                    return trial
        if self.created < self.max_trials:
            self.created += 1
            return 0
        return None


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), places=st.integers(1, 4), values=st.sampled_from((1, 3, 10**9)))
def test_places_go_to_whom_the_algorithm_says(seed: int, places: int, values: int) -> None:
    chance, max_trials = random.Random(seed), 20
    made, plain = PromotionBracket(TARGETS, max_trials, places, DIVISOR), Plain(max_trials)
    running: dict[int, int] = {}
    parked: set[int] = set()
    for _ in made.plan_start():
        assert plain.job(set()) == 0
        running[len(running) + 1] = 0
    for trial in running:
        assert made.on_created(trial, 0) == TARGETS[0]
    while running:
        trial = chance.choice(sorted(running))
        rung = running.pop(trial)
        value = float(chance.randrange(values))
        decision = made.on_result(trial, value, TARGETS[rung])
        if rung == 2:
            assert decision.stop and decision.reached_max_time
            steps = made.on_ended(trial, TrialEnding.FINISHED)
        else:
            plain.rungs[rung].append((value, trial))
            if not decision.pause:
                assert plain.job(parked | {trial}) == trial and decision.decide_at == TARGETS[rung + 1]
                running[trial] = rung + 1
                continue
            parked.add(trial)
            steps = made.on_parked(trial)
        for step in steps:
            expected = plain.job(parked)
            if isinstance(step, ResumeTrial):
                assert expected == step.trial
                parked.discard(step.trial)
                running[step.trial] = TARGETS.index(int(step.decide_at or 0))
            else:
                assert expected == 0
                made.on_created(plain.created, step.branch)
                running[plain.created] = 0
        assert len(running) <= places
    assert plain.created == max_trials and plain.job(parked) is None


@pytest.mark.parametrize(("are_ties_alike", "gone_on"), [(False, 3), (True, 9)], ids=["rules 4", "before"])
def test_of_trials_that_are_all_alike_no_more_go_on_than_may(are_ties_alike: bool, gone_on: int) -> None:
    """A search begun before goes on as it began: all are as good as the best there."""
    bracket = PromotionBracket(TARGETS, 9, 9, DIVISOR, are_ties_alike)
    bracket.plan_start()
    for trial in range(1, 10):
        bracket.on_created(trial, 0)
    paused = [trial for trial in range(1, 10) if bracket.on_result(trial, 0.1, TARGETS[0]).pause]
    steps = [step for trial in paused for step in bracket.on_parked(trial)]
    assert 9 - len(paused) + len(steps) == gone_on


def test_the_best_of_a_rung_go_on_from_where_they_paused_and_the_others_end_there() -> None:
    world = World(config(asha(max_trials=9, stop_once=False)))
    run_search(world, lambda trial, step: trial / 10, chaos=random.Random(3))
    states = {number: trial.state for number, trial in world.trials.items()}
    assert states[1] is TrialState.COMPLETED and TrialState.PARKED not in states.values()
    assert sum(state is TrialState.STOPPED for state in states.values()) == 8
    best_steps = {n: trial.latest.step for n, trial in world.trials.items() if trial.latest}
    assert best_steps[1] == 9 and sum(step >= 3 for step in best_steps.values()) >= 3
    assert world.experiment.state is ExperimentState.COMPLETED


def test_a_persons_resumption_leaves_alone_what_the_search_has_had_pause() -> None:
    world = World(config(asha(max_trials=4, concurrent=2, stop_once=False)))
    world.begin()
    for number in (1, 2):
        world.grant(number)
    world.validate(1, 1, 0.5)
    assert (
        world.trials[1].desired_state is DesiredState.PARK
        and world.decisions[-1].judged[0].verdict == "pause"
    )
    world.apply(lambda changes: pause(changes))
    for number in (1, 2):
        world.obey(number)
    assert {world.trials[n].state for n in (1, 2)} == {TrialState.PARKED}
    world.apply(lambda changes: resume(changes))
    assert world.trials[1].state is TrialState.PARKED, "it was not among the best of its rung"
    assert (world.trials[2].state, world.trials[2].request) == (TrialState.QUEUED, 2)
    assert world.trials[3].state is TrialState.QUEUED, "what the search's pause has freed is taken"


def test_a_search_of_paused_trials_can_be_cancelled() -> None:
    world = World(config(asha(max_trials=3, concurrent=1, stop_once=False)))
    world.begin()
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.obey(1)
    world.apply(lambda changes: cancel(changes, DesiredState.KILL))
    world.obey(2)
    assert world.experiment.state is ExperimentState.CANCELLED
    assert {trial.state for trial in world.trials.values()} == {TrialState.CANCELLED}
