"""Receives media packs: verified by the store on upload, or else read back, and catalogued afterwards.

The intent is recorded first (`sending`), then the object is stored, then one transaction numbers the pack, catalogues its items and counts its
bytes. Packs that are never committed are deleted with their intent (`retention`).
"""

import asyncio
import hashlib
from uuid import UUID

from services.registry.media import store as media
from services.registry.media.incoming import choose_kept, refuse_pack
from services.registry.media.store import Pack
from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.storage.links import PresignedUrls, incoming_key, media_key
from services.registry.storage.quota import refuse_bytes
from services.registry.storage.store import tenants as storage, workspaces
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, NotFound, Rejected
from shared.ids import TenantId, WorkerId, derived_id
from shared.messages.media import CommitMedia, MediaCommitted, MediaItem, MediaTarget, SendMedia
from shared.messages.runs import AllocationFacts
from shared.objects import Digest, ObjectStore, read_all
from shared.objects.signed_upload_check import Binding
from shared.runtime import faults

AT_ONCE = 4
"""Packs in memory at a time, of at most 24 MiB each."""
AFTER_PUT = faults.register("registry.after_media_put")


class MediaPacks:
    """Answers `wrq.v1.<worker>.send_media` and `.commit_media`."""

    def __init__(
        self, units: Units, facts: Facts, links: PresignedUrls, objects: ObjectStore, binding: Binding
    ) -> None:
        self._units = units
        self._facts = facts
        self._links = links
        self._objects = objects
        self._binding = binding
        self._free = asyncio.Semaphore(AT_ONCE)

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {SendMedia: self.on_send, CommitMedia: self.on_commit}

    async def on_send(self, ask: RequestContext, query: SendMedia) -> MediaTarget:
        """Sign one PUT for a pack, unless it is stored already or exceeds the storage limit. Idempotent."""
        if refusal := refuse_pack(query.size_bytes, query.sha256):
            raise Rejected(refusal.code, refusal.reason)
        facts = await self._facts.of(query.run_id, ask.worker)
        is_bound = query.takes_headers and await self._binding.holds()
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, _ = await fences.locked_run(unit, facts)
            fences.require(run.membership.refuse_media(unit.now), query.run_id, ask.worker)
            if full := await refuse_bytes(unit, facts.tenant, facts.experiment_id, query.size_bytes):
                return MediaTarget(refused=full)
            pack_id = _pack_id(ask.worker, query)
            pack = await media.begin_pack(
                unit.connection, pack_id, facts, query.size_bytes, query.sha256, unit.now
            )
        if pack is None or (pack.run, pack.sha256) != (facts.run_id, query.sha256):
            raise Conflict(
                "media_taken", f"the pack id {query.pack_id} is in use for another pack of this worker"
            )
        if pack.state == "stored":
            return MediaTarget()
        key = _kept(pack) if is_bound else _incoming(pack)
        signed = self._links.write(key, Digest(pack.size_bytes, pack.sha256))
        return MediaTarget(url=signed.url, headers=dict(signed.headers))

    async def on_commit(self, ask: RequestContext, query: CommitMedia) -> MediaCommitted:
        """Keep a pack whose upload matches; invalid items are left out."""
        facts = await self._facts.of(query.run_id, ask.worker)
        pack_id, tenant = _pack_id(ask.worker, query), TenantId(facts.tenant)
        async with self._units.tenant(tenant) as unit:
            pack = await media.load_pack(unit.connection, pack_id)
        if pack is None or pack.run != facts.run_id or pack.state in ("deleting", "abandoned"):
            return MediaCommitted(is_missing=True)
        kept, refusal = choose_kept(query.items, pack.size_bytes)
        refused = refusal.reason if refusal else None
        if pack.state == "stored":
            return MediaCommitted(refused=refused)
        is_there = await self._is_there(pack)
        if not is_there and not await self._take(pack):
            return MediaCommitted(is_missing=True)
        faults.point(AFTER_PUT)
        async with self._units.tenant(tenant) as unit:
            answer = await self._keep(unit, facts, pack, kept, refused)
        if not is_there:
            await self._objects.delete(_incoming(pack))
        return answer

    async def _is_there(self, pack: Pack) -> bool:
        """Return whether the pack is stored at its final key, verified by the store."""
        if not await self._binding.holds():
            return False
        found = await self._objects.stat(_kept(pack))
        return found is not None and (found.size_bytes, found.sha256) == (pack.size_bytes, pack.sha256)

    async def _take(self, pack: Pack) -> bool:
        """Verify the upload, and copy it to a key that no signed URL can write."""
        async with self._free:
            try:
                content = await read_all(self._objects, _incoming(pack), pack.size_bytes)
            except (NotFound, Rejected):
                return False
            sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
            if sha256 == pack.sha256:
                await self._objects.put(_kept(pack), content)
        return sha256 == pack.sha256

    async def _keep(
        self,
        unit: Unit,
        facts: AllocationFacts,
        read: Pack,
        kept: list[tuple[int, MediaItem]],
        refused: str | None,
    ) -> MediaCommitted:
        """Decide under the locks: another replica may have kept or given up the pack meanwhile."""
        await fences.locked_run(unit, facts)
        pack = await media.load_pack(unit.connection, read.id)
        if pack is None or pack.state != "uploading":
            return MediaCommitted(is_missing=pack is None or pack.state != "stored", refused=refused)
        full = await refuse_bytes(unit, pack.tenant, facts.experiment_id, pack.size_bytes, is_final=True)
        if full:
            return MediaCommitted(refused=full)
        workspace = await workspaces.find_workspace(unit.connection, facts.experiment_id)
        await media.keep_pack(unit.connection, pack, kept, workspace)
        await storage.add_used(unit.connection, pack.tenant, pack.size_bytes)
        if workspace is not None:
            await workspaces.add_used(unit.connection, pack.tenant, workspace, pack.size_bytes)
        return MediaCommitted(refused=refused)


def _pack_id(worker: WorkerId | None, query: SendMedia | CommitMedia) -> UUID:
    """Return the pack's internal id: it depends on run and worker, so that none can name another's pack."""
    return derived_id(query.run_id, "media", str(worker), str(query.pack_id))


def _kept(pack: Pack) -> str:
    return media_key(pack.tenant, pack.trial, pack.id)


def _incoming(pack: Pack) -> str:
    return incoming_key(pack.tenant, f"media-{pack.id}", pack.sha256, pack.size_bytes)
