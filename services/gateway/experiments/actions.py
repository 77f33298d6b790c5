"""What can be done with an experiment: the command of each operation, and how it is seen to have worked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from shared.ids import ExperimentId
from shared.messages import experiments as messages
from shared.messages.base import Command

StateCheck = Callable[[Any, int], bool]
"""Whether an experiment's row is as it was wanted, given the version that it had before."""


@dataclass(frozen=True, slots=True)
class Action:
    """How an experiment is told, and how it is seen to be what was wanted of it."""

    command: type[Command]
    reached: StateCheck
    while_going: str | None = None
    """What one that has ended cannot be any more; None: it is asked all the same."""
    wishes: Mapping[str, bool] = field(default_factory=dict)

    def order(self, operation_id: UUID, experiment: UUID) -> Command:
        """The command to the searcher."""
        about = {"operation_id": operation_id, "experiment_id": ExperimentId(experiment)}
        return self.command.model_validate({**about, **self.wishes})


def _ending(row: Any, _: int) -> bool:
    return bool(row.final) or row.state == "stopping"


ACTIONS: Mapping[str, Action] = {
    "PauseExperiment": Action(
        messages.PauseExperiment, lambda now, _: now.final or now.state == "paused", "paused"
    ),
    "ResumeExperiment": Action(
        messages.ResumeExperiment, lambda now, _: now.final or now.state == "active", "resumed"
    ),
    "CancelExperiment": Action(messages.CancelExperiment, _ending),
    "FinishExperiment": Action(messages.FinishExperiment, _ending),
    # One that is stopping already is killed all the same: it is told by its next change.
    "KillExperiment": Action(
        messages.KillExperiment,
        lambda now, before: now.final or (now.state == "stopping" and now.version > before),
    ),
    "ArchiveExperiment": Action(
        messages.ArchiveExperiment, lambda now, _: now.archived, wishes={"archived": True}
    ),
    "UnarchiveExperiment": Action(
        messages.ArchiveExperiment, lambda now, _: not now.archived, wishes={"archived": False}
    ),
}
"""By operation."""
