"""Explains why a trial waits and what would help: the blocking reason, the holders of the slots, why it
released its own slots, and the changes with which it would start."""

import asyncio
from dataclasses import dataclass
from math import ceil

from services.scheduler.core.explaining import preemption_messages
from services.scheduler.core.explaining.alternatives import StartAlternative, alternatives
from services.scheduler.core.explaining.holders import SlotHolders, holders_of
from services.scheduler.core.explaining.wait_reasons import binding_of, explain
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.slots import stored
from services.scheduler.core.state.records.trial import RequestState, Trial
from services.scheduler.cycle import Cycle
from services.scheduler.queries.forecasting import forecast_start
from services.scheduler.store.runs import has_trial, load_asking
from shared.bus import RequestContext
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import RunId, TenantId, TrialId
from shared.messages.queue import Explain, Explanation, PreemptionReason, SlotHolder, StartSuggestion

LOOK_S = 0.3
"""Time limit for the search for alternatives; those found by then are returned."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """Answers `Explain` from the leader's memory, or from the tables for records that have left it."""

    cycle: Cycle
    database: Database
    clock: Clock

    async def explain(self, ask: RequestContext, query: Explain) -> Explanation:
        """Explain a trial. Trials of other tenants are reported as unknown."""
        trial = self.cycle.cluster.trials.get(query.trial_id)
        if trial is None or trial.request.tenant != ask.tenant:
            return await self._explain_stored(ask.tenant, query.trial_id)
        if trial.is_closed:
            return _closed(trial.id)
        if trial.state is RequestState.RUNNING:
            return await self._explain_running(trial)
        return await self._explain_waiting(trial)

    async def _explain_waiting(self, trial: Trial) -> Explanation:
        cluster = self.cycle.cluster
        planned = self.cycle.term.refusals.get(trial.id)
        refusal, reason = explain(cluster, trial, planned), binding_of(cluster, trial, planned)
        is_queued = trial.id in cluster.pools[cluster.pool_of(trial)].queue
        position = int(refusal.facts["ahead"]) + 1 if is_queued else None
        held = holders_of(cluster, trial, reason)
        expected_start = forecast_start(cluster, trial, reason, self.clock.now())
        return Explanation(
            trial_id=trial.id,
            state="waiting",
            code=refusal.code,
            message=refusal.message,
            facts=dict(refusal.facts),
            position=position,
            holders=tuple(_holder(cluster, run) for run in held.named),
            **_counts(held),
            preemption=await self._preemption(trial),
            expected_start=expected_start,
            suggestions=await self._suggestions(trial, reason),
        )

    async def _explain_running(self, trial: Trial) -> Explanation:
        run = self.cycle.cluster.runs[trial.run or RunId(trial.id)]
        workers = ", ".join(share.worker for share in run.shares)
        message = f"run {run.number} holds {_count(stored(run.slots))} of pool {run.pool} on {workers}"
        preemption = await self._preemption(trial) if run.preempted else None
        if run.asked and run.asked.slots is not None:
            message += f"; it was asked to save and resume with {_count(run.asked.slots)}"
        elif preemption:
            message += f"; it was asked to give them back {preemption.message}"
        return Explanation(
            trial_id=trial.id,
            state="running",
            code="preempting" if run.preempted else "running",
            message=message,
            facts={
                "run": run.number,
                "slots": stored(run.slots),
                "pool": run.pool,
                "restarts": trial.restarts,
            },
            preemption=preemption,
        )

    async def _explain_stored(self, tenant: TenantId, trial: TrialId) -> Explanation:
        async with self.database.read(tenant) as connection:
            is_known = await has_trial(connection, tenant, trial)
        if is_known:
            return _closed(trial)
        message = "the scheduler has no such trial"
        return Explanation(trial_id=trial, state="unknown", code="unknown", message=message)

    async def _preemption(self, trial: Trial) -> PreemptionReason | None:
        if trial.run is None:
            return None
        async with self.database.read(trial.request.tenant) as connection:
            found = await load_asking(connection, trial.request.tenant, trial.run)
        if found is None:
            return None
        message = preemption_messages.asked_back(found.asked.because, found.by)
        return PreemptionReason(
            run_number=found.run_number, code=found.asked.because, message=message, by=found.by
        )

    async def _suggestions(self, trial: Trial, reason: WaitReason) -> tuple[StartSuggestion, ...]:
        """Run one plan per step; between the steps the leader continues its work."""
        cluster, until, found = self.cycle.cluster, self.clock.monotonic() + LOOK_S, []
        for one in alternatives(cluster, trial.id, reason):
            if one is not None:
                found.append(_way_out(cluster, trial, one))
            if self.clock.monotonic() > until:
                break
            await asyncio.sleep(0)
        return tuple(found)


def _holder(cluster: Cluster, run: Run) -> SlotHolder:
    request = cluster.trials[run.trial].request
    charge = cluster.pools[run.pool].charges[run.id]
    return SlotHolder(
        experiment_number=request.experiment_number,
        trial_number=request.number,
        slots=ceil(charge.slots),
        fraction=request.needs.fraction,
        since=run.granted_at,
        leaving=charge.is_leaving,
    )


def _count(slots: float) -> str:
    return f"{slots} slot" if slots == 1 else f"{slots} slots"


def _counts(held: SlotHolders) -> dict[str, int]:
    return {
        "own_runs": held.own_runs,
        "own_slots": held.own_slots,
        "other_runs": held.other_runs,
        "other_slots": held.other_slots,
    }


def _way_out(cluster: Cluster, trial: Trial, one: StartAlternative) -> StartSuggestion:
    message, command = preemption_messages.would_start(cluster, trial, one)
    return StartSuggestion(
        code=one.kind, starts=one.start, message=message, command=command, number=one.number, pool=one.pool
    )


def _closed(trial: TrialId) -> Explanation:
    return Explanation(
        trial_id=trial, state="closed", code="closed", message="the trial has ended and waits for nothing"
    )
