"""URLs for one object and one method, with a short life. Keys are made here, from ids; paths of users are data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from services.registry.storage.store.files import File
from shared.ids import derived_id
from shared.messages.files import FileEntry, FileLink, PartLink
from shared.objects import Digest, ObjectStore, SignedPut

LINKS_BYTES = 384 * 1024
"""Of one answer; a thousand files with long paths are more than the bus takes at once."""
INCOMING = "incoming/"
"""All that URLs write to which are signed for a key alone; what stays there is swept."""


@dataclass(frozen=True, slots=True)
class PresignedUrls:
    """Signs for everything that the registry lets others read or write."""

    objects: ObjectStore
    life: timedelta
    part_bytes: int

    def read(self, key: str) -> str:
        """A URL that reads one object."""
        return self.objects.presign_get(key, self.life)

    def write(self, key: str, content: Digest) -> SignedPut:
        """A request that writes one object: below `incoming/` whatever is sent, elsewhere this content and no other."""
        if is_upload(key):
            return SignedPut(self.objects.presign_put(key, self.life))
        return self.objects.presign_content(key, content, self.life)

    def read_files(
        self, files: Sequence[File], first: int | None = None
    ) -> tuple[tuple[FileLink, ...], int | None]:
        """The files of a manifest from the `first` on, each with a URL that reads it, and where to go on: as many as an answer holds.

        None asks for all, whatever their size, as who knows no pages does.
        """
        found: list[FileLink] = []
        size_bytes = 0
        for place, file in enumerate(files[first or 0 :], first or 0):
            found.append(_link(file, SignedPut(self.read(file.key))))
            size_bytes += len(found[-1].model_dump_json())
            if first is not None and size_bytes > LINKS_BYTES and place + 1 < len(files):
                return tuple(found), place + 1
        return tuple(found), None

    def write_files(
        self, files: Sequence[File], awaited: Callable[[File], bool], first: int | None = None
    ) -> tuple[tuple[FileLink, ...], int | None]:
        """The awaited files of a manifest, each with a request that writes it, or one for each of its parts, and where to go on.

        `first` counts requests in order, those of files that are not awaited too: which ones are may change from answer to answer. None asks for all.
        """
        found: dict[str, FileLink] = {}
        size_bytes = 0
        for place, (file, part) in enumerate(self._requests(files)):
            if place < (first or 0) or not awaited(file):
                continue
            if first is not None and size_bytes > LINKS_BYTES:
                return tuple(found.values()), place
            if file.path not in found:
                link = _link(file, self.write(file.key, Digest(file.size_bytes, file.sha256)))
                found[file.path] = link
                size_bytes += len(link.model_dump_json())
            if part is not None:
                url = self.objects.presign_put(part.key, self.life)
                said = PartLink(first=part.first, size_bytes=part.size_bytes, url=url)
                size_bytes += len(said.model_dump_json())
                link = found[file.path]
                found[file.path] = link.model_copy(update={"parts": (*link.parts, said)})
        return tuple(found.values()), None

    def _requests(self, files: Sequence[File]) -> Iterator[tuple[File, "FilePart | None"]]:
        """What is sent, in order: files, or their parts. A large one that is not sent has as many places as one that is."""
        for file in files:
            parts = plan_parts(file.key, file.size_bytes, self.part_bytes)
            count = max(1, -(-file.size_bytes // self.part_bytes))
            yield from ((file, parts[place] if len(parts) > 1 else None) for place in range(count))


@dataclass(frozen=True, slots=True)
class FilePart:
    """A stretch of a file, and where it is sent."""

    key: str
    first: int
    size_bytes: int


def plan_parts(key: str, size_bytes: int, part_bytes: int) -> tuple[FilePart, ...]:
    """What a file is sent in, in order: itself, or below `incoming/` parts of one size, but for the last."""
    if not is_upload(key) or size_bytes <= part_bytes:
        return (FilePart(key, 0, size_bytes),)
    firsts = range(0, size_bytes, part_bytes)
    return tuple(FilePart(f"{key}-{first}", first, min(part_bytes, size_bytes - first)) for first in firsts)


def upload_key(tenant: UUID, checkpoint: UUID, worker: str, entry: FileEntry) -> str:
    """Where a file of a checkpoint is sent. The same file asked for again goes to the same place, a changed one elsewhere."""
    name = derived_id(checkpoint, worker, entry.path, entry.sha256, entry.size_bytes)
    return f"{upload_prefix(tenant, checkpoint)}{name}"


def upload_prefix(tenant: UUID, checkpoint: UUID) -> str:
    """Where a checkpoint's files are sent."""
    return f"{INCOMING}{tenant}/{checkpoint}/"


def is_upload(key: str) -> bool:
    """Whether it is a place to which anything may have been written, also after it was looked at."""
    return key.startswith(INCOMING)


def bound_key(tenant: UUID, checkpoint: UUID, entry: FileEntry) -> str:
    """Where a file of a checkpoint is sent and stays, if the store takes nothing there but these bytes."""
    return f"{kept_prefix(tenant, checkpoint)}{entry.sha256}-{entry.size_bytes}"


def is_awaited(tenant: UUID, checkpoint: UUID, key: str) -> bool:
    """Whether the checkpoint's own workers send it there: what the tenant had before lies elsewhere."""
    return is_upload(key) or key.startswith(kept_prefix(tenant, checkpoint))


def kept_key(tenant: UUID, checkpoint: UUID, attempt: UUID, file: File) -> str:
    """Where an attempt to commit puts its copy; nobody is ever given a URL that writes anything else there."""
    prefix = kept_prefix(tenant, checkpoint)
    return f"{prefix}{attempt}/{derived_id(checkpoint, file.worker, file.path)}"


def kept_prefix(tenant: UUID, checkpoint: UUID) -> str:
    """Where what is kept of a checkpoint is, and every attempt's copies."""
    return f"tenants/{tenant}/checkpoints/{checkpoint}/"


def artifact_key(tenant: UUID, kind: str, name: UUID | str) -> str:
    """Where a verified artifact lies; nobody is ever given a URL that writes anything else there."""
    return f"tenants/{tenant}/{kind}/{name}"


def log_key(tenant: UUID, trial: UUID, id: UUID) -> str:
    """Where an object with lines of a trial's log lies."""
    return f"tenants/{tenant}/logs/{trial}/{id}"


def media_key(tenant: UUID, trial: UUID, pack: UUID) -> str:
    """Where a pack of what a trial logged lies; nobody is ever given a URL that writes anything else there."""
    return f"tenants/{tenant}/media/{trial}/{pack}"


def incoming_key(tenant: UUID, kind: str, sha256: str, size_bytes: int) -> str:
    """Where an artifact is sent before it is verified."""
    return f"{INCOMING}{tenant}/{kind}-{sha256}-{size_bytes}"


def _link(file: File, signed: SignedPut) -> FileLink:
    return FileLink(
        path=file.path,
        size_bytes=file.size_bytes,
        sha256=file.sha256,
        url=signed.url,
        headers=dict(signed.headers),
    )
