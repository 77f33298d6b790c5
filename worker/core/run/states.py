"""The life of one allocation on this machine, as a table."""

from enum import StrEnum

from shared.machine import Machine


class RunState(StrEnum):
    """`EXITED` stays until the desired set drops the allocation."""

    ABSENT = "absent"
    FETCHING = "fetching"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    EXITED = "exited"


class Trigger(StrEnum):
    """What happens to an allocation."""

    DESIRED = "desired"
    FETCHED = "fetched"
    FETCH_FAILED = "fetch_failed"
    STARTED = "started"
    START_FAILED = "start_failed"
    END_ORDERED = "end_ordered"
    ALL_ENDED = "all_ended"


MACHINE: Machine[RunState, Trigger] = Machine(
    "run on a worker",
    RunState.ABSENT,
    {
        (RunState.ABSENT, Trigger.DESIRED): RunState.FETCHING,
        (RunState.FETCHING, Trigger.FETCHED): RunState.STARTING,
        (RunState.FETCHING, Trigger.FETCH_FAILED): RunState.EXITED,
        (RunState.FETCHING, Trigger.END_ORDERED): RunState.EXITED,
        (RunState.STARTING, Trigger.STARTED): RunState.RUNNING,
        (RunState.STARTING, Trigger.START_FAILED): RunState.EXITED,
        (RunState.STARTING, Trigger.END_ORDERED): RunState.STOPPING,
        (RunState.STARTING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.RUNNING, Trigger.END_ORDERED): RunState.STOPPING,
        (RunState.RUNNING, Trigger.ALL_ENDED): RunState.EXITED,
        (RunState.STOPPING, Trigger.ALL_ENDED): RunState.EXITED,
    },
    ignored={
        (RunState.FETCHING, Trigger.DESIRED),
        (RunState.STARTING, Trigger.DESIRED),
        (RunState.RUNNING, Trigger.DESIRED),
        (RunState.STOPPING, Trigger.DESIRED),
        (RunState.STOPPING, Trigger.END_ORDERED),
        (RunState.STOPPING, Trigger.STARTED),
        (RunState.RUNNING, Trigger.STARTED),
    },
    final={RunState.EXITED},
)
