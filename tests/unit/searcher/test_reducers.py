"""What each event and command of an experiment changes: the trial's state, the journal's entries, and what is wanted of which trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal
from uuid import UUID

import pytest

from services.searcher.core.editing import SearchEdit
from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport
from services.searcher.core.experiment.results import Result
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.checkpoints import on_checkpoint, on_delayed
from services.searcher.core.reducers.commands import (
    archive,
    cancel,
    edit_search,
    finish,
    kill_trial,
    pause,
    resume,
)
from services.searcher.core.reducers.driver_operations import apply_operations
from services.searcher.core.reducers.events import CheckpointReport, RequestEnd, RunEnd, RunSlots, UploadDelay
from services.searcher.core.reducers.limits import widen
from services.searcher.core.reducers.runs import on_closed, on_granted, on_overdue, on_run_ended
from services.searcher.core.reducers.validations import on_validation
from services.searcher.core.search.widening import Idle
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.lives import CHECKPOINT, RANDOM, started
from tests.unit.searcher.world import NOW, Fields, World, asha

Act = Callable[[Changes], object]


def granted(trial: int = 1) -> Act:
    return partial(on_granted, granted=RunSlots(trial, 1))


def validated(step: int, loss: float | None, trial: int = 1) -> Act:
    values = {} if loss is None else {"loss": loss}
    return partial(on_validation, result=Result(trial, 1, step, step, values))


def ended(validations: int = 0, checkpoints: int = 0, is_requeued: bool = False) -> Act:
    return partial(on_run_ended, end=RunEnd(1, RunEndReport(1, validations, checkpoints), is_requeued))


def closed(outcome: str, trial: int = 1, runs: int = 1) -> Act:
    return partial(on_closed, end=RequestEnd(trial, 1, ClosedRequest(outcome, runs, None, NOW)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Row:
    """`before`: what has happened; then of the decision about `act`: the state of trial 1 and of the experiment, and what goes out;
    `is_kept`: trial 1 is saved."""

    before: Sequence[Act]
    act: Act
    trial: str
    experiment: str = "active"
    entries: tuple[str, ...] = ()
    wanted: dict[int, DesiredState] = field(default_factory=dict)
    verdicts: tuple[str, ...] = ()
    searcher: Fields = field(default_factory=lambda: RANDOM)
    is_kept: bool = True


RUN, PARK, STOP, KILL = DesiredState.RUN, DesiredState.PARK, DesiredState.STOP, DesiredState.KILL
CANCEL: Literal[DesiredState.CANCEL] = DesiredState.CANCEL
ASHA = asha(concurrent=2)
CUSTOM: Fields = {"name": "custom", "max_concurrent_trials": 2}
CREATE = Operation(OperationKind.CREATE, "a", point={"lr": 0.01}, until=2.0)
END = partial(apply_operations, operations=[Operation(OperationKind.STOP, "a")])
NEWS = partial(on_checkpoint, report=CheckpointReport(1, CHECKPOINT))
DELAY = partial(on_delayed, delay=UploadDelay(1, 1, "the store is away"))
EDIT = partial(edit_search, change=SearchEdit(max_concurrent_trials=3), operation=UUID(int=1))
AHEAD = [granted(), validated(1, 0.5)]
PAUSED = [granted(), pause]
ROWS = {
    "a run is granted": Row([], granted(), "running"),
    "a run is granted again": Row([granted()], granted(), "running", is_kept=False),
    "a result before the decision": Row(AHEAD, validated(2, 0.4), "running", searcher=ASHA),
    "a good result at the decision": Row(
        [granted()], validated(1, 0.5), "running", entries=("judged",), wanted={1: RUN}, verdicts=("go_on",), searcher=ASHA
    ),
    "a bad result at the decision": Row(
        [granted(2), validated(1, 0.1, 2), granted()], validated(1, 0.5), "stopping",
        entries=("judged",), wanted={1: STOP}, verdicts=("stop",), searcher=ASHA,
    ),
    "a result without the metric": Row(
        [granted()], validated(1, None), "stopping", "stopping", ("stopping", "ended"), {1: KILL, 2: KILL}, ("stop",)
    ),
    "a run ends and starts again": Row([granted()], ended(is_requeued=True), "queued"),
    "a run ends for good": Row([granted()], ended(), "running"),
    "a request closes": Row([granted(), ended()], closed("completed"), "completed", entries=("ended",), wanted={3: RUN}),
    "a request closes before its reports": Row(
        [granted(), ended(1)], closed("completed"), "finishing", entries=("ended",), wanted={3: RUN}
    ),
    "the last report arrives": Row(
        [granted(), ended(1), closed("completed")], validated(1, 0.5), "completed"
    ),
    "the last report never arrives": Row(
        [granted(), ended(1), closed("completed")], partial(on_overdue, trial=1), "completed"
    ),
    "a checkpoint is stored": Row([granted()], NEWS, "running"),
    "the last checkpoint is stored": Row([granted(), ended(0, 1), closed("completed")], NEWS, "completed"),
    "the last checkpoint is late": Row([granted(), ended(0, 1), closed("completed")], DELAY, "finishing"),
    "a placement is impossible": Row(
        [], closed("rejected", runs=0), "error", "rejected", ("stopping", "ended", "ended", "finished"), {2: KILL}
    ),
    "pause": Row([granted()], pause, "running", "paused", ("paused",), {1: PARK, 2: PARK}),
    "a paused request closes": Row(PAUSED, closed("parked"), "parked", "paused"),
    "resume": Row([*PAUSED, closed("parked")], resume, "queued", "active", ("resumed",), {1: RUN, 2: RUN}),
    "cancel": Row(
        [granted()], partial(cancel, wanted=CANCEL), "stopping", "stopping",
        ("stopping", "ended"), {1: CANCEL, 2: CANCEL},
    ),
    "kill one trial": Row([granted()], partial(kill_trial, number=1), "stopping", wanted={1: KILL}),
    "finish": Row([granted()], finish, "stopping", "stopping", ("stopping", "ended"), {1: STOP, 2: CANCEL}),
    "edit": Row([], EDIT, "queued", entries=("edited",), wanted={3: RUN}, is_kept=False),
    "slots stand idle": Row([], partial(widen, idle=Idle(9, 0)), "queued", entries=("widened",), wanted={3: RUN, 4: RUN},
                            searcher={**RANDOM, "widen_to": 8}, is_kept=False),
    "a program creates": Row(
        [], partial(apply_operations, operations=[CREATE]), "queued", entries=("operations_applied",), wanted={1: RUN}, searcher=CUSTOM
    ),
    "a program ends a trial": Row(
        [partial(apply_operations, operations=[CREATE]), granted()], END, "stopping", entries=("operations_applied",), wanted={1: STOP}, searcher=CUSTOM
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_an_event_changes_what_its_row_says_and_nothing_else(row: Row) -> None:
    world = started(row.searcher)
    for act in row.before:
        world.apply(act)
    decision = world.apply(row.act)
    assert world.trials[1].state == row.trial
    assert world.experiment.state == row.experiment
    assert tuple(entry.kind for entry in decision.entries) == row.entries
    assert {number: world.trials[number].desired_state for number in decision.requested} == row.wanted
    assert (1 in decision.trials) == row.is_kept
    assert tuple(judged.verdict for judged in decision.judged) == row.verdicts


def test_an_experiment_that_is_over_can_be_put_away() -> None:
    world: World = started({"name": "single"})
    world.apply(closed("completed", runs=0))
    decision = world.apply(partial(archive, archived=True))
    assert decision.experiment.archived and decision.is_announced and not decision.trials
