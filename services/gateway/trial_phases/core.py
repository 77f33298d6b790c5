"""Computes the phases of a trial from the records of scheduler and workers. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal[
    "queued",
    "parked",
    "preparing",
    "fetching_code",
    "making_environment",
    "restoring",
    "starting",
    "training",
    "first_step",
    "writing_checkpoint",
    "uploading_checkpoint",
    "running",
]
"""`running` covers a whole run whose worker reported no phases."""

_WITHIN: Mapping[str, tuple[Kind, Kind]] = {
    "fetch_code": ("fetching_code", "preparing"),
    "make_environment": ("making_environment", "preparing"),
    "pull_image": ("making_environment", "preparing"),
    "restore_checkpoint": ("restoring", "preparing"),
    "first_step": ("first_step", "training"),
    "write_checkpoint": ("writing_checkpoint", "training"),
    "upload_checkpoint": ("uploading_checkpoint", "training"),
}
"""By the worker's name of a phase: the kind, and the main phase that contains it. Version 1 of the API has no kind of its own for images."""
_MAIN: Sequence[tuple[Kind, str]] = (("preparing", "prepare"), ("starting", "start"), ("training", ""))
"""The main phases of a run in order, with the worker's phase whose end closes each. Training closes with the run."""
Waiting = Literal["queued", "parked"]


@dataclass(frozen=True, slots=True)
class WorkerPhase:
    """A phase as a worker reported it, by the worker's clock. `waits_for`: why an upload fails; it is retried, so the phase is not over."""

    kind: str
    began: datetime
    ended: datetime
    step: int | None = None
    waits_for: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class RunPhases:
    """A run: when it held its slots, and the phases that its worker reported."""

    number: int
    granted: datetime
    ended: datetime | None
    worker_phases: Sequence[WorkerPhase] = ()


@dataclass(frozen=True, slots=True)
class TrialPhase:
    """A phase. `run`: None while the trial waits; `ended`: None while it continues; `within`: the main phase that contains it; `reason`: why an upload fails; `image`: the image that was pulled."""

    kind: Kind
    run: int | None
    began: datetime
    ended: datetime | None
    within: Kind | None = None
    step: int | None = None
    reason: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingUploads:
    """Number of checkpoints whose uploads fail, when the oldest was announced, and why its upload fails."""

    checkpoints: int
    since: datetime
    reason: str


def phases_of(created: datetime, waits: Waiting | None, runs: Iterable[RunPhases]) -> list[TrialPhase]:
    """Return a trial's phases in order, each main phase before the phases within it. Phases of zero length are left out.

    Worker clocks may be wrong: phases are clipped to the time for which the run held slots, except uploads, which may end after it.

    Args:
        waits: the phase of a trial without a run; None if the trial is over.
    """
    found: list[TrialPhase] = []
    free: datetime | None = created
    for run in runs:
        if free is not None and free < run.granted:
            found.append(TrialPhase("queued", None, free, run.granted))
        found.extend(_phases_of_run(run, is_over=waits is None))
        free = run.ended
    if free is not None and waits is not None:
        found.append(TrialPhase(waits, None, free, None))
    return found


def waiting_uploads(phases: Iterable[TrialPhase]) -> WaitingUploads | None:
    """Return the failing uploads among a trial's phases, or None."""
    waiting = [one for one in phases if one.ended is None and one.reason is not None]
    if not waiting:
        return None
    first = min(waiting, key=lambda one: one.began)
    return WaitingUploads(len(waiting), first.began, first.reason or "")


def _phases_of_run(run: RunPhases, *, is_over: bool) -> Iterable[TrialPhase]:
    if not run.worker_phases and run.ended is not None:
        return [TrialPhase("running", run.number, run.granted, run.ended)]
    found: list[TrialPhase] = []
    inner = [_inner(run, one, is_over=is_over) for one in run.worker_phases if one.kind in _WITHIN]
    for main in _main_phases(run):
        found += [main, *(one for one in inner if one.within == main.kind)]
    return found


def _main_phases(run: RunPhases) -> Iterable[TrialPhase]:
    """Yield the main phases, up to the first one whose end the worker did not report."""
    ended_at = {one.kind: _clamped(one.ended, run) for one in run.worker_phases}
    began = run.granted
    for kind, reported_kind in _MAIN:
        ended = max(began, ended_at[reported_kind]) if reported_kind in ended_at else run.ended
        if ended != began:
            yield TrialPhase(kind, run.number, began, ended)
        if ended is None or reported_kind not in ended_at:
            return
        began = ended


def _inner(run: RunPhases, one: WorkerPhase, *, is_over: bool) -> TrialPhase:
    """Return a phase within a main phase. Once the trial is over, uploads no longer count as waiting."""
    kind, within = _WITHIN[one.kind]
    began = _clamped(one.began, run)
    if one.waits_for is not None and not is_over:
        return TrialPhase(kind, run.number, began, None, within, one.step, one.waits_for)
    ended = max(began, one.ended) if kind == "uploading_checkpoint" else _clamped(one.ended, run)
    return TrialPhase(kind, run.number, began, ended, within, one.step, image=one.image)


def _clamped(at: datetime, run: RunPhases) -> datetime:
    return max(run.granted, at if run.ended is None else min(at, run.ended))
