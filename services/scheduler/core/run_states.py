"""The life of a run, as a table."""

from enum import StrEnum

from shared.machine import Machine


class RunState(StrEnum):
    """The life of a run."""

    GRANTED = "granted"
    RUNNING = "running"
    ENDED = "ended"


class RunTrigger(StrEnum):
    """`heard`: every member has named the allocation."""

    HEARD = "heard"
    ENDED = "ended"


RUN = Machine(
    name="run",
    initial=RunState.GRANTED,
    table={
        (RunState.GRANTED, RunTrigger.HEARD): RunState.RUNNING,
        (RunState.GRANTED, RunTrigger.ENDED): RunState.ENDED,
        (RunState.RUNNING, RunTrigger.ENDED): RunState.ENDED,
    },
    ignored={(RunState.RUNNING, RunTrigger.HEARD)},
    final={RunState.ENDED},
)
