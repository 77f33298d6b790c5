"""Searches that a program drives, as the tests of them see one."""

from services.searcher.core.experiment.states import TrialState
from services.searcher.core.journal.driver_events import DriverEvent, events_of
from services.searcher.core.methods.custom import Operation, OperationKind
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.world import World, config

SPACE: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "width": 8,
}
POINT = {"lr": 0.01, "optimizer": "adam"}


def world(**more: object) -> World:
    made = World(config({"name": "custom", "max_concurrent_trials": 2, **more}, SPACE))
    made.begin()
    return made


def create(key: str, **more: object) -> Operation:
    return Operation(OperationKind.CREATE, key, **{"point": POINT, "until": 2.0} | more)  # type: ignore[arg-type]


def apply(made: World, *operations: Operation) -> None:
    made.apply_operations(operations)


def events(made: World, after: int = 0) -> list[DriverEvent]:
    return [event for entry in made.journal if entry.position > after for event in events_of(entry)]


def kinds(made: World) -> list[tuple[str, str]]:
    return [(event.kind, event.key) for event in events(made)]


def wanted(made: World, number: int) -> DesiredState:
    return made.trials[number].desired_state


def decide_at(made: World, number: int) -> float | None:
    return made.trials[number].decide_at


def state(made: World, number: int) -> TrialState:
    return made.trials[number].state


def train(made: World, number: int, step: int, loss: float = 1.0) -> None:
    if made.trials[number].state is TrialState.QUEUED:
        made.grant(number)
    made.validate(number, step, loss)
