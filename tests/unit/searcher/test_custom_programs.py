"""Programs that die, repeat themselves and are begun anew drive their searches to the end all the same."""

import random
from collections.abc import Callable

from hypothesis import given, settings, strategies as st

from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.journal.driver_events import DriverEvent
from services.searcher.core.journal.replay import fold, recompute, replay
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.commands import pause, resume
from services.searcher.core.search.search import Search
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.driven import (
    apply,
    create,
    events,
    train,
    world,
)
from tests.unit.searcher.world import SEED, World

Chaos = st.builds(random.Random, st.integers(0, 10**6))


class Program:
    """Successive halving by hand: it knows only what it was told, says all of it again at times, and loses its memory."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.acknowledged = 0
        self.sent: list[Operation] = []

    def answer(self, event: DriverEvent) -> list[Operation]:
        match event.kind:
            case "validation" if (event.time or 0) >= 8:
                return [Operation(OperationKind.STOP, event.key)]
            case "validation":
                is_good = event.value is not None and event.value < 0.7
                return [
                    Operation(OperationKind.GO_ON, event.key, until=2 * (event.time or 0))
                    if is_good
                    else Operation(OperationKind.STOP, event.key)
                ]
            case "ended":
                index = int(event.key[1:]) + 2
                return [create(f"t{index}", until=1.0)] if index < self.total else []
        return []


def drive(made: World, chaos: random.Random, total: int, *, between: Callable[[], None]) -> None:
    """Train and drive to the end; the program is slow, repeats itself, and is begun anew at any time."""
    program = Program(total)
    apply(made, create("t0", until=1.0), create("t1", until=1.0))
    ended: set[str] = set()
    for _ in range(20_000):
        if made.experiment.is_final:
            return
        between()
        if chaos.random() < 0.3:
            page = events(made, program.acknowledged)[:3]
            for event in page:
                operations = program.answer(event)
                ended |= {event.key} if event.kind == "ended" else set()
                if len(ended) == total:
                    operations.append(Operation(OperationKind.SHUTDOWN))
                if operations:
                    apply(made, *operations)
                if chaos.random() < 0.2:  # It dies before it notes that: the event comes again.
                    break
                program.acknowledged = event.number
            continue
        trials = made.open()
        if trials:
            trial = chaos.choice(trials)
            if trial.desired_state is not DesiredState.RUN:
                made.obey(trial.number)
            elif trial.state is TrialState.RUNNING and chaos.random() < 0.05:
                made.close(trial.number, "failed")
            else:
                step = trial.latest.step + 1 if trial.latest else 1
                train(made, trial.number, step, chaos.random())
    raise AssertionError("the search did not end")


@settings(max_examples=40, deadline=None)
@given(chaos=Chaos, undecided=st.sampled_from(["park", "train"]))
def test_a_program_that_dies_and_repeats_itself_loses_nothing_and_doubles_nothing(
    chaos: random.Random, undecided: str
) -> None:
    made = world(undecided=undecided)
    drive(made, chaos, 7, between=lambda: None)
    found = events(made)
    for kind in ("created", "ended"):
        assert sorted(event.key for event in found if event.kind == kind) == [f"t{n}" for n in range(7)]
    assert len(made.trials) == 7 and made.most_open <= 2
    assert [event.number for event in found] == sorted(event.number for event in found)
    assert replay(made.config, SEED, made.journal) is None


@settings(max_examples=15, deadline=None)
@given(chaos=Chaos, cut=st.integers(0, 200))
def test_a_driven_search_rebuilt_at_any_entry_has_the_same_future(chaos: random.Random, cut: int) -> None:
    made = world(sampler="tpe")
    drive(made, chaos, 5, between=lambda: None)
    rebuilt = Search(made.config, SEED)
    fold(rebuilt, made.journal[:cut])
    for entry in made.journal[cut:]:
        decided = recompute(rebuilt, entry)
        assert decided == {key: entry.facts[key] for key in decided}


@settings(max_examples=15, deadline=None)
@given(chaos=Chaos)
def test_a_person_may_pause_and_resume_a_driven_search_at_any_time(chaos: random.Random) -> None:
    made = world()

    def between() -> None:
        if chaos.random() < 0.05:
            is_active = made.experiment.state is ExperimentState.ACTIVE
            made.apply(lambda changes: pause(changes) if is_active else resume(changes))

    drive(made, chaos, 6, between=between)
    assert len(made.trials) == 6 and replay(made.config, SEED, made.journal) is None
    assert made.experiment.counts.live == 0
