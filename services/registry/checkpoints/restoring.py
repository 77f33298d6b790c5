"""The start of a run: its code, and the checkpoint to resume from."""

from collections.abc import Sequence
from uuid import UUID

from services.registry.checkpoints.commits import STALE
from services.registry.checkpoints.corruption import mark_corrupt
from services.registry.checkpoints.store import checkpoints
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.verifier import Verifier
from services.registry.code import store as artifacts
from services.registry.core.checkpoint import CheckpointStatus, choose_newest
from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.runs.store import trials
from services.registry.runs.store.trials import RankedValidation, StoredRun
from services.registry.series.core.superseded_points import NOTHING, RunStart, plan_boundaries
from services.registry.storage.links import PresignedUrls
from services.registry.storage.store import files as manifests
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound, Rejected
from shared.ids import CheckpointId, TenantId
from shared.messages.checkpoints import DamagedFile, Restore, Restored
from shared.messages.files import CodeLink, GetCode
from shared.messages.reports import CurrentValidation, ValidationsSuperseded
from shared.messages.runs import AllocationFacts


class RestoreRequests:
    """Answers `wrq.v1.<worker>.code` and `.restore`."""

    def __init__(self, units: Units, facts: Facts, links: PresignedUrls, verifier: Verifier) -> None:
        self._units = units
        self._facts = facts
        self._links = links
        self._verifier = verifier

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {
            GetCode: self.on_code,
            Restore: self.on_restore,
        }

    async def on_code(self, ask: RequestContext, query: GetCode) -> CodeLink:
        """Return where to read the run's code. Raises `NotFound` for a run without code."""
        facts = await self._facts.of(query.run_id, ask.worker)
        if facts.code_hash is None:
            raise NotFound(
                f"the code of run {query.run_id}", hint="its experiment was submitted without a model folder"
            )
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            membership = await trials.load_membership(unit.connection, query.run_id)
            fences.require(membership.refuse_reading(ask.worker), query.run_id, ask.worker)
            found = await artifacts.load_artifact(unit.connection, "code", facts.code_hash)
        if found is None:
            raise NotFound(f"the code {facts.code_hash}", hint="submit the experiment again")
        key, size_bytes = found
        return CodeLink(sha256=facts.code_hash, size_bytes=size_bytes, url=self._links.read(key))

    async def on_restore(self, ask: RequestContext, query: Restore) -> Restored:
        """Choose what the run resumes from, once: all members and repeats get the same answer unless the checkpoint is damaged."""
        facts = await self._facts.of(query.run_id, ask.worker)
        if query.damaged is not None:
            await self._check_damage(facts, query.damaged)
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, known = await fences.locked_run(unit, facts)
            fences.require(run.membership.refuse_reading(ask.worker), query.run_id, ask.worker)
            if run.fence.is_stale:
                raise Rejected("stale_token", f"run {query.run_id} may not start: {STALE}")
            chosen = await self._choose(unit, facts, run)
            step = chosen.step if chosen else NOTHING
            is_rolled_back = False
            if run.resumed_from is None or run.restored != (chosen.id if chosen else None):
                await trials.save_resumption(unit.connection, run.run, step, chosen.id if chosen else None)
                is_rolled_back = await _supersede(unit, known, RunStart(run.number, step))
            files = await manifests.load_files(unit.connection, [chosen.id]) if chosen else {}
            is_asked = chosen is not None or is_rolled_back
            current = (
                await trials.load_current_validations(unit.connection, facts.trial_id) if is_asked else []
            )
            if is_rolled_back:
                unit.emit(_superseded(facts, step, current))
        if chosen is None:
            return Restored()
        best = current[0].value if current else None
        links, following = self._links.read_files(files[chosen.id], query.first)
        return Restored(
            checkpoint_id=CheckpointId(chosen.id), step=chosen.step, files=links, best=best, next=following
        )

    async def _check_damage(self, facts: AllocationFacts, damaged: DamagedFile) -> None:
        """Read a file that a worker could not use. If the stored object is damaged, its checkpoints become corrupt."""
        tenant = TenantId(facts.tenant)
        async with self._units.tenant(tenant) as unit:
            run, _ = await fences.locked_run(unit, facts)
            files = await manifests.load_files(unit.connection, [damaged.checkpoint_id])
        file = next((one for one in files[damaged.checkpoint_id] if one.path == damaged.path), None)
        if file is None or run.restored != damaged.checkpoint_id:
            return
        reason = await self._verifier.find_damage(file)
        if reason is None:
            return
        async with self._units.tenant(tenant) as unit:
            await mark_corrupt(unit, file.key, reason)

    async def _choose(self, unit: Unit, facts: AllocationFacts, run: StoredRun) -> CheckpointRow | None:
        """Return the checkpoint of the earlier answer if it is still good; else the trial's newest good one; else its start checkpoint."""
        if run.resumed_from == NOTHING:
            return None
        if run.restored is not None:
            before = await checkpoints.load_checkpoint(unit.connection, run.restored)
            if before is not None and before.state is CheckpointStatus.saved:
                return before
        if (newest := await _newest(unit, facts.trial_id)) is not None:
            return newest
        wanted = facts.start_checkpoint
        if wanted is None:
            return None
        found = await checkpoints.load_checkpoint(unit.connection, wanted)
        if (
            found is not None
            and found.state is not CheckpointStatus.saved
            and found.experiment == facts.experiment_id
        ):
            # A copied trial starts from any good checkpoint of its source trial.
            found = await _newest(unit, found.trial) or found
        if found is None or found.state is not CheckpointStatus.saved:
            raise Rejected(
                "start_checkpoint_gone",
                f"the start checkpoint {wanted} is {found.state if found else 'unknown'}",
                hint="choose a checkpoint that `muster checkpoint list` shows as saved",
            )
        return found


async def _newest(unit: Unit, trial: UUID) -> CheckpointRow | None:
    """Return a trial's newest good checkpoint."""
    newest = choose_newest(await checkpoints.load_candidates(unit.connection, trial))
    return await checkpoints.load_checkpoint(unit.connection, newest.checkpoint) if newest else None


async def _supersede(unit: Unit, known: Sequence[StoredRun], resumed: RunStart) -> bool:
    """Set up to which step earlier runs count; return whether that changed."""
    attempts = [resumed if run.number == resumed.number else run.attempt for run in known]
    boundaries = plan_boundaries(attempts)
    changed: dict[UUID, int] = {}
    for run in known:
        boundary = boundaries[run.number]
        if boundary is not None and boundary != run.superseded_after:
            changed[run.run] = boundary
    if changed:
        await trials.save_boundaries(unit.connection, changed)
    return bool(changed)


def _superseded(
    facts: AllocationFacts, step: int, current: Sequence[RankedValidation]
) -> ValidationsSuperseded:
    return ValidationsSuperseded(
        trial_id=facts.trial_id,
        experiment_id=facts.experiment_id,
        run_id=facts.run_id,
        run_number=facts.run_number,
        token=facts.token,
        version=facts.run_number,
        step=step,
        current=tuple(CurrentValidation(step=one.step, values=one.values) for one in current),
    )
