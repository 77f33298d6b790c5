"""Loop that settles ended runs: each announced checkpoint is saved, abandoned, or waited for with a reason. See `core/abandonment`.

Replicas may run it concurrently: each run is judged again under its trial's lock.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.registry.checkpoints import abandoning
from services.registry.checkpoints.commits import STALE
from services.registry.checkpoints.core.abandonment import Decision, OpenCheckpoint, Wait, judge_open
from services.registry.checkpoints.store import checkpoints, collection, pending
from services.registry.checkpoints.store.pending import PendingRun
from services.registry.core.checkpoint import CheckpointTrigger
from services.registry.runs.store import trials
from services.registry.storage.links import INCOMING
from shared.bus import Unit, Units
from shared.errors import MusterError
from shared.ids import ExperimentId, RunId, TenantId, TrialId, derived_id
from shared.messages.checkpoints import UploadsDelayed
from shared.objects import ObjectStore

AT_ONCE = 2000
PROBE_S = 5.0
_PROBED = f"{INCOMING}probe"
"""A key that never exists: any answer shows that the store responds."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Settles ended runs."""

    units: Units
    objects: ObjectStore

    async def settle(self) -> None:
        """Settle what can be settled, abandon what will not come, and publish why the rest is not stored yet."""
        async with self.units.system() as unit:
            found = await pending.load_pending(unit.connection, AT_ONCE)
            waiting = [run for run in found if not run.is_over]
            opened = await pending.load_open(unit.connection, waiting) if waiting else {}
            names = {
                name for each in opened.values() for one in each for name in (*one.workers, *one.holders)
            }
            away = await pending.load_away(unit.connection, names) if names else {}
        for run in found:
            if run.is_over:
                async with self.units.tenant(TenantId(run.tenant)) as unit:
                    await _close(unit, run)
        if waiting:
            look = _Observed(await self._responds(), away)
            for run in waiting:
                await self._judge_run(run, opened[run.id], look)

    async def _judge_run(self, run: PendingRun, known: Sequence[OpenCheckpoint], look: "_Observed") -> None:
        """Judge a run without a lock first, because most passes change nothing."""
        async with self.units.tenant(TenantId(run.tenant)) as unit:
            wait = run.wait.after(unit.now, is_waited_for=run.is_waited_for, responds=look.responds)
            decision = look.judge(run, known, wait)
            if not decision.abandoned and (decision.delay_reason, wait) == (run.delay_reason, run.wait):
                return
            await trials.lock_trial(unit.connection, run.trial)
            decision = look.judge(run, (await pending.load_open(unit.connection, [run]))[run.id], wait)
            for number, reason in sorted(decision.abandoned.items()):
                await _abandon(unit, run, number, reason)
            await pending.save_wait(unit.connection, run.id, wait, decision.delay_reason)
            if decision.delay_reason is not None and decision.delay_reason != run.delay_reason:
                unit.emit(_delayed(run, len(known) - len(decision.abandoned), decision.delay_reason))

    async def _responds(self) -> bool:
        """Return whether the store responds now."""
        try:
            async with asyncio.timeout(PROBE_S):
                await self.objects.stat(_PROBED)
        except (MusterError, OSError, TimeoutError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Observed:
    """The observations of one pass: whether the store responds, and which workers do not."""

    responds: bool
    away: Mapping[str, str]

    def judge(self, run: PendingRun, known: Sequence[OpenCheckpoint], wait: Wait) -> Decision:
        lost_workers = {name for name, state in self.away.items() if state == "removed"}
        silent = set(self.away) - lost_workers
        return judge_open(
            known, wait, run.limit, lost_workers=lost_workers, silent=silent, responds=self.responds
        )


async def _close(unit: Unit, run: PendingRun) -> None:
    """Settle a run that can commit nothing more; checkpoints never announced to the registry are abandoned too."""
    await trials.lock_trial(unit.connection, run.trial)
    for one in (await pending.load_open(unit.connection, [run]))[run.id]:
        await _abandon(unit, run, one.number, STALE)
    await collection.save_settled(unit.connection, run.id)


async def _abandon(unit: Unit, run: PendingRun, number: int, reason: str) -> None:
    """Abandon one checkpoint of a locked trial, creating its row if it was never announced to the registry."""
    checkpoint = derived_id(run.id, "checkpoint", number)
    row = {
        "id": checkpoint,
        "tenant": run.tenant,
        "experiment": run.experiment,
        "trial": run.trial,
        "run": run.id,
        "run_number": run.number,
        "token": run.token,
        "number": number,
        "step": 0,
        "created_at": unit.now,
        "changed_at": unit.now,
    }
    await checkpoints.insert_checkpoint(unit.connection, row)
    await abandoning.abandon_unsaved(unit, run.id, CheckpointTrigger.upload_timed_out, reason, number)


def _delayed(run: PendingRun, count: int, reason: str) -> UploadsDelayed:
    return UploadsDelayed(
        run_id=RunId(run.id),
        trial_id=TrialId(run.trial),
        experiment_id=ExperimentId(run.experiment),
        run_number=run.number,
        pending=count,
        reason=reason,
    )
