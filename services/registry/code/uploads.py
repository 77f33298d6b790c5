"""Content-addressed artifacts, verified by the store on upload, or else read back before they are kept."""

import re

from services.registry.code.store import ask_artifact, await_upload, end_upload, load_artifact, save_artifact
from services.registry.storage.limits import refuse_growth
from services.registry.storage.links import PresignedUrls, artifact_key, incoming_key
from services.registry.storage.store.tenants import add_used, load_stored
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.errors import NotFound, Rejected
from shared.ids import new_id
from shared.messages.files import Confirmed, ConfirmUpload, GetUploadUrl, UploadTarget
from shared.objects import Digest, ObjectStore
from shared.objects.signed_upload_check import Binding

MISSING = "nothing was uploaded to the URL; upload the bytes, then confirm"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class CodeUploads:
    """Answers `qry.v1.registry.upload_url` and `.confirm_upload`."""

    def __init__(
        self,
        units: Units,
        objects: ObjectStore,
        links: PresignedUrls,
        binding: Binding,
        clock: Clock,
        most_bytes: int,
    ) -> None:
        self._units = units
        self._objects = objects
        self._links = links
        self._binding = binding
        self._clock = clock
        self._most_bytes = most_bytes

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetUploadUrl: self.on_upload_url, ConfirmUpload: self.on_confirm}

    async def on_upload_url(self, ask: RequestContext, query: GetUploadUrl) -> UploadTarget:
        """Return where to upload the bytes, or that the tenant stores them already."""
        self._check(query.sha256, query.size_bytes)
        if await self._known(ask, query) is not None:
            return UploadTarget(known=True)
        is_bound = query.takes_headers and await self._binding.holds()
        key = _bound_key(ask, query)
        async with self._units.tenant(ask.tenant) as unit:
            stored = await load_stored(unit.connection, ask.tenant)
            if full := refuse_growth(stored.used_bytes, query.size_bytes, stored.maximum_bytes):
                raise Rejected(full.code, full.reason, place="size_bytes")
            if not is_bound or not await await_upload(unit.connection, ask.tenant, key, unit.now):
                key = incoming_key(ask.tenant, query.kind, query.sha256, query.size_bytes)
        signed = self._links.write(key, Digest(query.size_bytes, query.sha256))
        return UploadTarget(known=False, url=signed.url, headers=dict(signed.headers))

    async def on_confirm(self, ask: RequestContext, query: ConfirmUpload) -> Confirmed:
        """Keep an upload that matches, as verified by the store, or after reading a copy that no signed URL can overwrite."""
        self._check(query.sha256, query.size_bytes)
        confirmed = Confirmed(sha256=query.sha256, size_bytes=query.size_bytes)
        if await self._known(ask, query) is not None:
            return confirmed
        if (bound := await self._find_bound(ask, query)) is not None:
            if not await self._keep(ask, query, bound):
                await self._objects.delete(bound)
            return confirmed
        incoming = incoming_key(ask.tenant, query.kind, query.sha256, query.size_bytes)
        kept = artifact_key(ask.tenant, query.kind, new_id(self._clock))
        try:
            await self._objects.copy(incoming, kept)
        except NotFound as error:
            if await self._known(ask, query) is not None:
                return confirmed
            raise Rejected("upload_missing", MISSING) from error
        found = await self._objects.digest(kept)
        if found != Digest(query.size_bytes, query.sha256):
            await self._objects.delete(kept)
            await self._objects.delete(incoming)
            raise Rejected(
                "upload_mismatch",
                f"the upload has {found.size_bytes if found else 0} bytes and does not match the announced {query.size_bytes} "
                f"bytes with SHA-256 {query.sha256}; upload it again",
            )
        if not await self._keep(ask, query, kept):
            await self._objects.delete(kept)
        await self._objects.delete(incoming)
        return confirmed

    async def _find_bound(self, ask: RequestContext, query: ConfirmUpload) -> str | None:
        """Return the key of an upload verified by the store; None if there is none."""
        key = _bound_key(ask, query)
        found = await self._objects.stat(key) if await self._binding.holds() else None
        if found is None or (found.size_bytes, found.sha256) != (query.size_bytes, query.sha256):
            return None
        return key

    async def _keep(self, ask: RequestContext, query: ConfirmUpload, key: str) -> bool:
        """Insert the artifact; return whether this object is the one that counts. Raises Rejected if the upload expired and is being deleted."""
        async with self._units.tenant(ask.tenant) as unit:
            if not await end_upload(unit.connection, key):
                raise Rejected("upload_missing", MISSING)
            is_new = await save_artifact(
                unit.connection, ask.tenant, query.kind, query.sha256, query.size_bytes, key, unit.now
            )
            await add_used(unit.connection, ask.tenant, query.size_bytes if is_new else 0)
            stored = await load_artifact(unit.connection, query.kind, query.sha256)
        return stored is None or stored[0] == key

    async def _known(self, ask: RequestContext, query: GetUploadUrl | ConfirmUpload) -> str | None:
        async with self._units.tenant(ask.tenant) as unit:
            found = await ask_artifact(unit.connection, query.kind, query.sha256, unit.now)
        return found[0] if found else None

    def _check(self, sha256: str, size_bytes: int) -> None:
        if not _SHA256.fullmatch(sha256):
            raise Rejected("bad_hash", "sha256 must be 64 lower-case hexadecimal digits", place="sha256")
        if not 0 < size_bytes <= self._most_bytes:
            raise Rejected(
                "too_large",
                f"the archive has {size_bytes} bytes; 1 to {self._most_bytes} are allowed",
                place="size_bytes",
                hint="exclude data and checkpoints with a .musterignore file",
            )


def _bound_key(ask: RequestContext, query: GetUploadUrl | ConfirmUpload) -> str:
    """Return an artifact's final key, at which the store accepts only these bytes."""
    return artifact_key(ask.tenant, query.kind, f"{query.sha256}-{query.size_bytes}")
