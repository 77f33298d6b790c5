"""The two tables of a run's life, and what a new leader makes of what it reads."""

from dataclasses import dataclass
from itertools import product

import pytest

from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import RunExit, state_of
from services.scheduler.core.state.records.run_states import (
    GANG,
    RUN,
    GangState,
    GangTrigger,
    RunState,
    RunTrigger,
)
from shared.errors import Broken
from shared.ids import WorkerId

WELL, ILL = (WorkerId("a"), RunExit()), (WorkerId("b"), RunExit(exit_code=1))
ASKED = PreemptionNotice("drain")
ORDER = list(RunState)


@pytest.mark.parametrize(("state", "trigger"), list(product(RunState, RunTrigger)))
def test_a_run_never_goes_back(state: RunState, trigger: RunTrigger) -> None:
    if RUN.moves(state, trigger):
        assert ORDER.index(RUN.next(state, trigger)) >= ORDER.index(state)


@pytest.mark.parametrize(
    ("triggers", "state"),
    [
        (["asked", "member_done", "ended"], RunState.ENDED),
        (["member_done", "asked"], RunState.ENDING),
        (["member_done", "grace_over", "asked", "member_done"], RunState.KILLING),
        (["asked", "member_failed", "member_failed"], RunState.KILLING),
        (["ended", "asked", "member_failed", "released", "member_done"], RunState.RELEASED),
    ],
)
def test_a_run_on_its_way_out(triggers: list[str], state: RunState) -> None:
    after = RUN.initial
    for trigger in triggers:
        after = RUN.next(after, RunTrigger(trigger))
    assert after is state


@pytest.mark.parametrize(
    ("state", "trigger"),
    [(RunState.ACTIVE, RunTrigger.GRACE_OVER), (RunState.ACTIVE, RunTrigger.RELEASED)],
)
def test_what_cannot_be_is_refused(state: RunState, trigger: RunTrigger) -> None:
    with pytest.raises(Broken):
        RUN.next(state, trigger)


@pytest.mark.parametrize(
    ("triggers", "state"),
    [
        (["started"], GangState.TRAINING),
        (["forms", "started"], GangState.FORMING),
        (["started", "forms", "forms", "formed", "started"], GangState.TRAINING),
    ],
)
def test_a_gang_forms_from_any_state_and_trains_again(triggers: list[str], state: GangState) -> None:
    after = GANG.initial
    for trigger in triggers:
        after = GANG.next(after, GangTrigger(trigger))
    assert after is state


@dataclass(frozen=True)
class Stored:
    """What a row has of a run that says in which state it is."""

    state: RunState
    is_ended: bool = False
    exits: tuple[tuple[WorkerId, RunExit], ...] = ()
    asked: PreemptionNotice | None = None


@pytest.mark.parametrize(
    "stored",
    [
        Stored(RunState.ACTIVE),
        Stored(RunState.PREEMPTING, asked=ASKED),
        Stored(RunState.ENDING, exits=(WELL,), asked=ASKED),
        Stored(RunState.KILLING, exits=(WELL, ILL)),
        Stored(RunState.RELEASED, is_ended=True, exits=(WELL, ILL), asked=ASKED),
    ],
    ids=lambda stored: stored.state,
)
def test_a_new_leader_finds_the_state_from_what_is_stored(stored: Stored) -> None:
    assert state_of(stored.is_ended, stored.exits, stored.asked) is stored.state
