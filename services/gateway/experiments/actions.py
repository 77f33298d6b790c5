"""Actions on experiments: the command that each operation sends, and the check that it took effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from shared.ids import ExperimentId
from shared.messages import experiments as messages
from shared.messages.base import Command

StateCheck = Callable[[Any, int], bool]
"""Returns whether an experiment's row has reached the desired state, given its version before the command."""


@dataclass(frozen=True, slots=True)
class Action:
    """The command of an operation, and the check that it took effect."""

    command: type[Command]
    reached: StateCheck
    while_going: str | None = None
    """Participle for the error if the experiment has ended, such as `paused`; None sends the command anyway."""
    wishes: Mapping[str, bool] = field(default_factory=dict)

    def order(self, operation_id: UUID, experiment: UUID) -> Command:
        """Return the command to the searcher."""
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
    # An experiment that is already stopping can be killed too; its next change confirms that.
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
"""Actions by operation name."""
