"""The state machine of one allocation on this machine."""

from enum import StrEnum

from shared.state_machine import StateMachine


class RunState(StrEnum):
    """The state of an allocation on this machine.

    Attributes:
        PREPARING: Files and environment are prepared and the startup hook runs.
        RENDEZVOUS: Ranks start once their gang has a rendezvous; at once if they need none.
        STARTING: Its ranks are being forked.
        RUNNING: Its ranks train.
        RESIZING: Ranks train while the members of the gang change.
        TERMINATING: Ranks hang and got SIGTERM; SIGKILL follows.
        KILLING: Processes got SIGKILL and have not all ended.
        EXITED: No process runs. The record stays until the desired set drops it.
        FORGOTTEN: The scheduler has seen the end; unsent data is still being sent.
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
    """The events of an allocation."""

    PREPARED = "prepared"
    PREPARATION_FAILED = "preparation_failed"
    CANCELLED = "cancelled"
    """It must end, and no rank was started."""
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
"""All local ranks were started, and none is being killed."""
LAUNCHED = TRAINING | {RunState.STARTING, RunState.KILLING}
"""Ranks were started and not all have ended."""
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
        # A daemon that died before it persisted LAUNCHED finds its ranks running or ended.
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
        # Ranks that have not started yet start in the newest gang; ranks that are ending join it or do not.
        *((state, Trigger.RESIZE_ORDERED) for state in RunState if state is not RunState.RUNNING),
        *((state, Trigger.RESIZED) for state in RunState if state is not RunState.RESIZING),
        *((state, Trigger.STARTED) for state in (*TRAINING, RunState.KILLING)),
        *((RunState.EXITED, trigger) for trigger in Trigger if trigger is not Trigger.FORGOTTEN),
    },
    final={RunState.FORGOTTEN},
)
