"""The life cycle of a run, as two state machines: the run itself, and the gang of workers that trains it.

They are separate because all combinations occur: a run is asked for its slots while its gang forms, and a
member ends while another has not started yet.
"""

from enum import StrEnum

from shared.state_machine import StateMachine


class RunState(StrEnum):
    """Whether a run continues. Every state except `active` leads to the end, and no transition leads back."""

    ACTIVE = "active"
    PREEMPTING = "preempting"
    ENDING = "ending"
    KILLING = "killing"
    ENDED = "ended"
    RELEASED = "released"


class RunTrigger(StrEnum):
    """Triggers of state changes."""

    ASKED = "asked"
    MEMBER_DONE = "member_done"
    MEMBER_FAILED = "member_failed"
    GRACE_OVER = "grace_over"
    ENDED = "ended"
    RELEASED = "released"


class GangState(StrEnum):
    """Whether the gang trains. `forming`: its members change, or it re-forms after it broke."""

    STARTING = "starting"
    TRAINING = "training"
    FORMING = "forming"


class GangTrigger(StrEnum):
    """Triggers of state changes."""

    STARTED = "started"
    FORMS = "forms"
    FORMED = "formed"


_S, _T = RunState, RunTrigger
RUN = StateMachine(
    name="run",
    initial=_S.ACTIVE,
    table={
        # The run is asked for its slots; a run that is already ending keeps its state.
        (_S.ACTIVE, _T.ASKED): _S.PREEMPTING,
        (_S.ENDING, _T.ASKED): _S.ENDING,
        (_S.KILLING, _T.ASKED): _S.KILLING,
        # A member's ranks have exited cleanly: the others may finish within GANG_GRACE.
        (_S.ACTIVE, _T.MEMBER_DONE): _S.ENDING,
        (_S.PREEMPTING, _T.MEMBER_DONE): _S.ENDING,
        (_S.ENDING, _T.MEMBER_DONE): _S.ENDING,
        # A member's ranks have failed, or GANG_GRACE is over: the rest is killed.
        (_S.ACTIVE, _T.MEMBER_FAILED): _S.KILLING,
        (_S.PREEMPTING, _T.MEMBER_FAILED): _S.KILLING,
        (_S.ENDING, _T.MEMBER_FAILED): _S.KILLING,
        (_S.ENDING, _T.GRACE_OVER): _S.KILLING,
        # The last member has ended, or a required machine is lost.
        (_S.ACTIVE, _T.ENDED): _S.ENDED,
        (_S.PREEMPTING, _T.ENDED): _S.ENDED,
        (_S.ENDING, _T.ENDED): _S.ENDED,
        (_S.KILLING, _T.ENDED): _S.ENDED,
        # The last worker has released its slots.
        (_S.ENDED, _T.RELEASED): _S.RELEASED,
    },
    ignored={
        (_S.PREEMPTING, _T.ASKED),
        (_S.KILLING, _T.MEMBER_DONE),
        (_S.KILLING, _T.MEMBER_FAILED),
        (_S.ENDED, _T.ASKED),
        (_S.ENDED, _T.MEMBER_DONE),
        (_S.ENDED, _T.MEMBER_FAILED),
    },
    final={_S.RELEASED},
)

_G, _H = GangState, GangTrigger
GANG = StateMachine(
    name="gang",
    initial=_G.STARTING,
    table={
        # Every member has reported the allocation.
        (_G.STARTING, _H.STARTED): _G.TRAINING,
        # Slots are added or released, or a member or a connection is lost.
        (_G.STARTING, _H.FORMS): _G.FORMING,
        (_G.TRAINING, _H.FORMS): _G.FORMING,
        (_G.FORMING, _H.FORMS): _G.FORMING,
        # All target members train together, and the others have released their slots.
        (_G.FORMING, _H.FORMED): _G.TRAINING,
    },
    ignored={(_G.TRAINING, _H.STARTED), (_G.FORMING, _H.STARTED)},
)
