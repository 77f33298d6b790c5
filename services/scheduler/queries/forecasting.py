"""Forecasts when requests will start: a single one, or the first ones on a page of the queue."""

import asyncio
from datetime import datetime, timedelta

import numpy as np

from services.scheduler.core.explaining.forecast.start import forecast
from services.scheduler.core.explaining.wait_reasons import binding_of
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.cycle import LeaderTerm
from shared.clock import Clock
from shared.messages.queue import ExpectedStart, QueueEntry, QueuePage

LOOK_S = 0.3
"""Time limit for the forecasts of a page; those found by then are returned."""
MOST = 50
"""The number of forecasts per page."""


def forecast_start(cluster: Cluster, trial: Trial, reason: WaitReason, now: datetime) -> ExpectedStart | None:
    """Forecast a trial's start. The same state gives the same answer. `reason`: what the trial waits for."""
    found = forecast(cluster, trial, reason, np.random.default_rng(trial.id.int))
    if found is None:
        return None
    return ExpectedStart(
        earliest=now + timedelta(milliseconds=found.earliest_ms),
        expected=now + timedelta(milliseconds=found.expected_ms),
        latest=now + timedelta(milliseconds=found.latest_ms),
        runs=found.runs,
    )


async def with_starts(term: LeaderTerm, page: QueuePage, clock: Clock) -> QueuePage:
    """Return the page with the forecasts of its first waiting requests. Between two of them the leader
    continues its work."""
    until, entries, asked = clock.monotonic() + LOOK_S, list(page.entries), 0
    for at, entry in enumerate(entries):
        if entry.state != "waiting":
            continue
        if asked == MOST or clock.monotonic() > until:
            break
        asked += 1
        entries[at] = _with_start(term, entry, clock.now())
        await asyncio.sleep(0)
    return QueuePage(entries=tuple(entries), next=page.next)


def _with_start(term: LeaderTerm, entry: QueueEntry, now: datetime) -> QueueEntry:
    trial = term.cluster.trials.get(entry.trial_id)
    if trial is None or trial.is_closed or trial.state is RequestState.RUNNING:
        return entry  # it started or ended while earlier entries were forecast
    reason = binding_of(term.cluster, trial, term.refusals.get(trial.id))
    start = forecast_start(term.cluster, trial, reason, now)
    return entry.model_copy(update={"expected_start": start})
