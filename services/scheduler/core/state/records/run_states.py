"""The life of a run, as two tables: what becomes of the run, and how far the gang of workers that trains it has come.

They are apart because all pairs occur before the end: a run is asked for its slots while its gang forms, and a member ends while another has not
started yet.
"""

from enum import StrEnum

from shared.state_machine import StateMachine


class RunState(StrEnum):
    """Whether a run goes on. Every state but `active` is on the way out, and no edge leads back."""

    ACTIVE = "active"
    PREEMPTING = "preempting"
    ENDING = "ending"
    KILLING = "killing"
    ENDED = "ended"
    RELEASED = "released"


class RunTrigger(StrEnum):
    """What moves it."""

    ASKED = "asked"
    MEMBER_DONE = "member_done"
    MEMBER_FAILED = "member_failed"
    GRACE_OVER = "grace_over"
    ENDED = "ended"
    RELEASED = "released"


class GangState(StrEnum):
    """Whether the gang trains. `forming`: it gets other members, or meets anew after it broke."""

    STARTING = "starting"
    TRAINING = "training"
    FORMING = "forming"


class GangTrigger(StrEnum):
    """What moves it."""

    HEARD = "heard"
    FORMS = "forms"
    FORMED = "formed"


_S, _T = RunState, RunTrigger
RUN = StateMachine(
    name="run",
    initial=_S.ACTIVE,
    table={
        # The run is asked for its slots; of one that ends anyway it is kept why.
        (_S.ACTIVE, _T.ASKED): _S.PREEMPTING,
        (_S.ENDING, _T.ASKED): _S.ENDING,
        (_S.KILLING, _T.ASKED): _S.KILLING,
        # A member's ranks have ended well: the others may finish within GANG_GRACE.
        (_S.ACTIVE, _T.MEMBER_DONE): _S.ENDING,
        (_S.PREEMPTING, _T.MEMBER_DONE): _S.ENDING,
        (_S.ENDING, _T.MEMBER_DONE): _S.ENDING,
        # A member's ranks have failed, or the others had their time: the rest is killed.
        (_S.ACTIVE, _T.MEMBER_FAILED): _S.KILLING,
        (_S.PREEMPTING, _T.MEMBER_FAILED): _S.KILLING,
        (_S.ENDING, _T.MEMBER_FAILED): _S.KILLING,
        (_S.ENDING, _T.GRACE_OVER): _S.KILLING,
        # The last member has ended, or a machine is lost that the gang needs.
        (_S.ACTIVE, _T.ENDED): _S.ENDED,
        (_S.PREEMPTING, _T.ENDED): _S.ENDED,
        (_S.ENDING, _T.ENDED): _S.ENDED,
        (_S.KILLING, _T.ENDED): _S.ENDED,
        # The last worker has let go of its slots.
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
        # Every member has named the allocation.
        (_G.STARTING, _H.HEARD): _G.TRAINING,
        # Slots are added or given back, a member is lost, or a connection was.
        (_G.STARTING, _H.FORMS): _G.FORMING,
        (_G.TRAINING, _H.FORMS): _G.FORMING,
        (_G.FORMING, _H.FORMS): _G.FORMING,
        # All that are to be members train together, and the others have let go.
        (_G.FORMING, _H.FORMED): _G.TRAINING,
    },
    ignored={(_G.TRAINING, _H.HEARD), (_G.FORMING, _H.HEARD)},
)
