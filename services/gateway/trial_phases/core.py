"""What a trial did when, of what scheduler and workers noted: one main phase after another, and what lies within them. Pure."""

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
"""`running`: of a run whose worker has told nothing, all of it."""

_WITHIN: Mapping[str, tuple[Kind, Kind]] = {
    "fetch_code": ("fetching_code", "preparing"),
    "make_environment": ("making_environment", "preparing"),
    "restore_checkpoint": ("restoring", "preparing"),
    "first_step": ("first_step", "training"),
    "write_checkpoint": ("writing_checkpoint", "training"),
    "upload_checkpoint": ("uploading_checkpoint", "training"),
}
"""What a worker tells, what it is called here, and what it lies within."""
_MAIN: Sequence[tuple[Kind, str]] = (("preparing", "prepare"), ("starting", "start"), ("training", ""))
"""What follows each other in a run, and as what its end is told: of training by the run's own."""
Waiting = Literal["queued", "parked"]


@dataclass(frozen=True, slots=True)
class WorkerPhase:
    """A phase that a worker has told of, by its own clock. `waits_for`: an upload that fails and is tried again is not over; this is why."""

    kind: str
    began: datetime
    ended: datetime
    step: int | None = None
    waits_for: str | None = None


@dataclass(frozen=True, slots=True)
class RunPhases:
    """A run: when it had its slots, and what its worker told."""

    number: int
    granted: datetime
    ended: datetime | None
    told: Sequence[WorkerPhase] = ()


@dataclass(frozen=True, slots=True)
class TrialPhase:
    """`run`: None while it waits; `ended`: None while it goes on; `within`: the main phase that it is a part of; `reason`: why an upload waits."""

    kind: Kind
    run: int | None
    began: datetime
    ended: datetime | None
    within: Kind | None = None
    step: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingUploads:
    """Checkpoints whose uploads fail and are tried again: how many, since when the first was announced, and why it waits."""

    checkpoints: int
    since: datetime
    reason: str


def phases_of(created: datetime, waits: Waiting | None, runs: Iterable[RunPhases]) -> list[TrialPhase]:
    """Return a trial's phases: the main ones follow each other, each before what lies within it; what lasted no time is left out.

    A worker's clock may go wrong: what it tells is cut to the time for which its run had slots, but for what is sent behind its end.

    Args:
        waits: what it does without a run; None where it is over.
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
    """Return what a trial's phases say of uploads that wait; None where none does."""
    waiting = [one for one in phases if one.ended is None and one.reason is not None]
    if not waiting:
        return None
    first = min(waiting, key=lambda one: one.began)
    return WaitingUploads(len(waiting), first.began, first.reason or "")


def _phases_of_run(run: RunPhases, *, is_over: bool) -> Iterable[TrialPhase]:
    if not run.told and run.ended is not None:
        return [TrialPhase("running", run.number, run.granted, run.ended)]
    found: list[TrialPhase] = []
    inner = [_inner(run, one, is_over=is_over) for one in run.told if one.kind in _WITHIN]
    for main in _main_phases(run):
        found += [main, *(one for one in inner if one.within == main.kind)]
    return found


def _main_phases(run: RunPhases) -> Iterable[TrialPhase]:
    """Each lasts until its end was told; the first whose end was not is the last."""
    ends = {one.kind: _clamped(one.ended, run) for one in run.told}
    began = run.granted
    for kind, told_as in _MAIN:
        ended = max(began, ends[told_as]) if told_as in ends else run.ended
        if ended != began:
            yield TrialPhase(kind, run.number, began, ended)
        if ended is None or told_as not in ends:
            return
        began = ended


def _inner(run: RunPhases, one: WorkerPhase, *, is_over: bool) -> TrialPhase:
    """Of a trial that is over nothing waits, whatever was told last."""
    kind, within = _WITHIN[one.kind]
    began = _clamped(one.began, run)
    if one.waits_for is not None and not is_over:
        return TrialPhase(kind, run.number, began, None, within, one.step, one.waits_for)
    ended = max(began, one.ended) if kind == "uploading_checkpoint" else _clamped(one.ended, run)
    return TrialPhase(kind, run.number, began, ended, within, one.step)


def _clamped(at: datetime, run: RunPhases) -> datetime:
    return max(run.granted, at if run.ended is None else min(at, run.ended))
