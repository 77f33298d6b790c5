"""The life of one allocation on this machine, as a table."""

from enum import StrEnum

from shared.state_machine import StateMachine


class RunState(StrEnum):
    """Where an allocation stands on this machine.

    Attributes:
        PREPARING: Its files, its environment and its hook are made ready.
        RENDEZVOUS: Its ranks start as soon as their gang has a rendezvous; at once where they need none.
        STARTING: Its ranks are being forked.
        RUNNING: Its ranks train.
        RESIZING: They train, while the gang gets other members.
        TERMINATING: Its ranks hang and got SIGTERM; SIGKILL follows.
        KILLING: Its processes got SIGKILL and have not all ended.
        EXITED: Nothing of it runs. It stays until the desired set drops it.
        FORGOTTEN: The scheduler knows of its end; what is not sent yet is.
    """

    PREPARING = "preparing"
    RENDEZVOUS = "rendezvous"
    STARTING = "starting"
    RUNNING = "running"
    RESIZING = "resizing"
    TERMINATING = "terminating"
    KILLING = "killing"
    EXITED = "exited"
    FORGOTTEN = "forgotten"


class Trigger(StrEnum):
    """What happens to an allocation."""

    PREPARED = "prepared"
    PREPARATION_FAILED = "preparation_failed"
    CANCELLED = "cancelled"
    """It is to end, and no rank of it was started."""
    LAUNCHED = "launched"
    STARTED = "started"
    START_FAILED = "start_failed"
    RESIZE_ORDERED = "resize_ordered"
    RESIZED = "resized"
    TERMINATED = "terminated"
    KILLED = "killed"
    ALL_ENDED = "all_ended"
    FORGOTTEN = "forgotten"


TRAINING = frozenset({RunState.RUNNING, RunState.RESIZING, RunState.TERMINATING})
"""All local ranks were forked, and none is being killed."""
LAUNCHED = TRAINING | {RunState.STARTING, RunState.KILLING}
"""Ranks of it were started, and have not all ended."""
OVER = frozenset({RunState.EXITED, RunState.FORGOTTEN})

MACHINE: StateMachine[RunState, Trigger] = StateMachine(
    "run on a worker",
    RunState.PREPARING,
    {
        (RunState.PREPARING, Trigger.PREPARED): RunState.RENDEZVOUS,
        (RunState.PREPARING, Trigger.PREPARATION_FAILED): RunState.EXITED,
        (RunState.PREPARING, Trigger.CANCELLED): RunState.EXITED,
        (RunState.RENDEZVOUS, Trigger.LAUNCHED): RunState.STARTING,
        (RunState.RENDEZVOUS, Trigger.START_FAILED): RunState.EXITED,
        (RunState.RENDEZVOUS, Trigger.CANCELLED): RunState.EXITED,
        # A daemon that died before it kept LAUNCHED finds its ranks alive, or ended.
        (RunState.RENDEZVOUS, Trigger.STARTED): RunState.RUNNING,
        (RunState.RENDEZVOUS, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.STARTING, Trigger.STARTED): RunState.RUNNING,
        (RunState.STARTING, Trigger.START_FAILED): RunState.EXITED,
        (RunState.STARTING, Trigger.KILLED): RunState.KILLING,
        (RunState.STARTING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.RUNNING, Trigger.RESIZE_ORDERED): RunState.RESIZING,
        (RunState.RUNNING, Trigger.TERMINATED): RunState.TERMINATING,
        (RunState.RUNNING, Trigger.KILLED): RunState.KILLING,
        (RunState.RUNNING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.RESIZING, Trigger.RESIZED): RunState.RUNNING,
        (RunState.RESIZING, Trigger.TERMINATED): RunState.TERMINATING,
        (RunState.RESIZING, Trigger.KILLED): RunState.KILLING,
        (RunState.RESIZING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.TERMINATING, Trigger.KILLED): RunState.KILLING,
        (RunState.TERMINATING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.KILLING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.EXITED, Trigger.FORGOTTEN): RunState.FORGOTTEN,
    },
    ignored={
        # Ranks that are not there yet start in the newest gang; those that are to end join it or do not.
        *((state, Trigger.RESIZE_ORDERED) for state in RunState if state is not RunState.RUNNING),
        *((state, Trigger.RESIZED) for state in RunState if state is not RunState.RESIZING),
        *((state, Trigger.STARTED) for state in (*TRAINING, RunState.KILLING)),
        *((RunState.EXITED, trigger) for trigger in Trigger if trigger is not Trigger.FORGOTTEN),
    },
    final={RunState.FORGOTTEN},
)
