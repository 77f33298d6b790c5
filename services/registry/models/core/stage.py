"""Stages of a model version: allowed transitions, and approvals. See also `handlers.versions`."""

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
"""The trigger is the requested stage. A version must pass staging before production."""
STAGES_KEPT = 50
"""Number of stage changes stored per version; the events hold all of them."""


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A version's stage, its pending stage change, and its stage history, oldest first."""

    stage: Stage
    pending: PendingStage | None = None
    stages: tuple[StageChange, ...] = ()


def refuse_stage(staged: StageStatus, wanted: Stage) -> InputRefusal | None:
    """Return why a stage change is rejected; None if it is allowed."""
    if staged.pending is not None:
        waiting = staged.pending
        return InputRefusal(
            "stage_pending",
            f"A change to '{waiting.stage}' requested by {waiting.by} is pending: "
            "approve or reject that first.",
        )
    if STAGE.moves(staged.stage, wanted):
        return None
    allowed = ", ".join(_AFTER[staged.stage])
    return InputRefusal(
        "stage_unreachable",
        f"A version in stage '{staged.stage}' cannot change to '{wanted}'; allowed stages: {allowed}.",
    )


def ask_stage(
    staged: StageStatus, wanted: Stage, by: str, reason: str, needed: int, now: datetime
) -> StageStatus:
    """Return the version after a request: in the new stage if no approvals are needed, else with a pending change."""
    asked = PendingStage(stage=wanted, by=by, reason=reason, asked_at=now, needed=needed)
    return StageStatus(staged.stage, asked, staged.stages) if needed else _come(staged, asked, now)


def refuse_decision(pending: PendingStage | None, by: str, *, approve: bool) -> InputRefusal | None:
    """Return why a user's answer does not count; None if it does. Nobody approves their own request, or approves twice."""
    if pending is None:
        return InputRefusal("stage_not_pending", "The version has no pending stage change.")
    if approve and by == pending.by:
        return InputRefusal("own_approval", f"{by} requested this change: another user must approve it.")
    if approve and any(one.by == by for one in pending.approvals):
        return InputRefusal("approved_already", f"{by} has already approved this change.")
    return None


def decide_stage(staged: StageStatus, by: str, reason: str, now: datetime, *, approve: bool) -> StageStatus:
    """Return the version after an answer: still pending, in the new stage, or in the old one."""
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
    """Return why a version may not be deleted, because it may be in use; None if it may."""
    if aliases:
        named = ", ".join(sorted(aliases))
        return InputRefusal(
            "version_in_use", f"The alias {named} points to it: move or remove the alias first."
        )
    if stage == "production":
        return InputRefusal("version_in_use", "It is in production: archive it first.")
    return None


def _come(staged: StageStatus, asked: PendingStage, now: datetime) -> StageStatus:
    change = StageChange(
        stage=asked.stage, by=asked.by, at=now, reason=asked.reason, approvals=asked.approvals
    )
    return StageStatus(STAGE.next(staged.stage, asked.stage), None, (*staged.stages, change)[-STAGES_KEPT:])
