"""The stages of a model version: which follows which, and who must agree. Neighbour: `handlers.versions`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.registry.core.names import InputRefusal
from shared.messages.models import Approval, PendingStage, Stage, StageChange
from shared.state_machine import StateMachine

_AFTER: dict[Stage, tuple[Stage, ...]] = {
    "none": ("candidate", "staging", "archived"),
    "candidate": ("none", "staging", "archived"),
    "staging": ("candidate", "production", "archived"),
    "production": ("staging", "archived"),
    "archived": ("none",),
}
STAGE: StateMachine[Stage, Stage] = StateMachine(
    "model version",
    "none",
    {(before, after): after for before, afters in _AFTER.items() for after in afters},
)
"""The trigger is the stage that is asked for. Nothing goes into production that was not in staging."""
STAGES_KEPT = 50
"""Of the changes of one version's stage; who needs all of them reads the events."""


@dataclass(frozen=True, slots=True)
class StageStatus:
    """Where a version stands: its stage, the change that waits for approval, and how it came here, oldest first."""

    stage: Stage
    pending: PendingStage | None = None
    stages: tuple[StageChange, ...] = ()


def refuse_stage(staged: StageStatus, wanted: Stage) -> InputRefusal | None:
    """Return why a version may not be asked to come to a stage; None when it may."""
    if staged.pending is not None:
        waiting = staged.pending
        return InputRefusal(
            "stage_pending",
            f"The version waits for approval to become '{waiting.stage}', asked for by {waiting.by}: "
            "approve or reject that first.",
        )
    if STAGE.moves(staged.stage, wanted):
        return None
    ways = ", ".join(_AFTER[staged.stage])
    return InputRefusal(
        "stage_unreachable", f"From '{staged.stage}' a version goes to {ways}, not to '{wanted}'."
    )


def ask_stage(
    staged: StageStatus, wanted: Stage, by: str, reason: str, needed: int, now: datetime
) -> StageStatus:
    """Return the version after the asking: there already where nobody else needs to agree, else waiting."""
    asked = PendingStage(stage=wanted, by=by, reason=reason, asked_at=now, needed=needed)
    return StageStatus(staged.stage, asked, staged.stages) if needed else _come(staged, asked, now)


def refuse_decision(pending: PendingStage | None, by: str, *, approve: bool) -> InputRefusal | None:
    """Return why a person's answer does not count; None when it does. Nobody approves what they asked for, or twice."""
    if pending is None:
        return InputRefusal("stage_not_pending", "The version waits for no approval.")
    if approve and by == pending.by:
        return InputRefusal("own_approval", f"{by} asked for this change: somebody else must approve it.")
    if approve and any(one.by == by for one in pending.approvals):
        return InputRefusal("approved_already", f"{by} has approved this change already.")
    return None


def decide_stage(staged: StageStatus, by: str, reason: str, now: datetime, *, approve: bool) -> StageStatus:
    """Return the version after an answer that counts: still waiting, there, or where it was."""
    pending = staged.pending
    if pending is None or not approve:
        return StageStatus(staged.stage, None, staged.stages)
    approvals = (*pending.approvals, Approval(by=by, at=now, reason=reason))
    agreed = pending.model_copy(update={"approvals": approvals})
    return (
        _come(staged, agreed, now)
        if len(approvals) >= pending.needed
        else StageStatus(staged.stage, agreed, staged.stages)
    )


def refuse_deletion(stage: Stage, aliases: Sequence[str]) -> InputRefusal | None:
    """Return why a version may not be deleted; None when it may: somebody may rely on it."""
    if aliases:
        named = ", ".join(sorted(aliases))
        return InputRefusal("version_in_use", f"The alias {named} names it: move or remove that first.")
    if stage == "production":
        return InputRefusal("version_in_use", "It is in production: archive it first.")
    return None


def _come(staged: StageStatus, asked: PendingStage, now: datetime) -> StageStatus:
    change = StageChange(
        stage=asked.stage, by=asked.by, at=now, reason=asked.reason, approvals=asked.approvals
    )
    return StageStatus(STAGE.next(staged.stage, asked.stage), None, (*staged.stages, change)[-STAGES_KEPT:])
