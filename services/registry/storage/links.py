"""Object keys, and short-lived presigned URLs for one object and method. Keys consist of ids; user paths never become keys."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from services.registry.storage.store.files import File
from shared.ids import derived_id
from shared.messages.files import FileEntry, FileLink, PartLink
from shared.objects import Digest, ObjectStore, SignedPut

LINKS_BYTES = 384 * 1024
"""Maximum size of links in a reply: a thousand files with long paths exceed the limit of the bus."""
INCOMING = "incoming/"
"""Prefix of uploads with URLs that are signed only for the key; what remains there is swept."""


@dataclass(frozen=True, slots=True)
class PresignedUrls:
    """Signs URLs for everything that clients read or write."""

    objects: ObjectStore
    life: timedelta
    part_bytes: int

    def read(self, key: str) -> str:
        """Return a URL that reads one object."""
        return self.objects.presign_get(key, self.life)

    def write(self, key: str, content: Digest) -> SignedPut:
        """Return a request that writes one object: any content below `incoming/`, only this content elsewhere."""
        if is_upload(key):
            return SignedPut(self.objects.presign_put(key, self.life))
        return self.objects.presign_content(key, content, self.life)

    def read_files(
        self, files: Sequence[File], first: int | None = None
    ) -> tuple[tuple[FileLink, ...], int | None]:
        """Return a manifest's files from index `first` on with URLs to read them, as many as fit into a reply, and the next index.

        None returns all, whatever their size, for clients that do not support pages.
        """
        found: list[FileLink] = []
        size_bytes = 0
        for index, file in enumerate(files[first or 0 :], first or 0):
            found.append(_link(file, SignedPut(self.read(file.key))))
            size_bytes += len(found[-1].model_dump_json())
            if first is not None and size_bytes > LINKS_BYTES and index + 1 < len(files):
                return tuple(found), index + 1
        return tuple(found), None

    def write_files(
        self, files: Sequence[File], awaited: Callable[[File], bool], first: int | None = None
    ) -> tuple[tuple[FileLink, ...], int | None]:
        """Return the awaited files of a manifest with requests to write them or their parts, and the next index.

        `first` counts requests in order, including those of files that are not awaited, because these may change between replies. None returns all.
        """
        found: dict[str, FileLink] = {}
        size_bytes = 0
        for index, (file, part) in enumerate(self._requests(files)):
            if index < (first or 0) or not awaited(file):
                continue
            if first is not None and size_bytes > LINKS_BYTES:
                return tuple(found.values()), index
            if file.path not in found:
                link = _link(file, self.write(file.key, Digest(file.size_bytes, file.sha256)))
                found[file.path] = link
                size_bytes += len(link.model_dump_json())
            if part is not None:
                url = self.objects.presign_put(part.key, self.life)
                part_link = PartLink(first=part.first, size_bytes=part.size_bytes, url=url)
                size_bytes += len(part_link.model_dump_json())
                link = found[file.path]
                found[file.path] = link.model_copy(update={"parts": (*link.parts, part_link)})
        return tuple(found.values()), None

    def _requests(self, files: Sequence[File]) -> Iterator[tuple[File, "FilePart | None"]]:
        """Yield all requests in order: files, or their parts. A large file has as many requests whether or not it is sent."""
        for file in files:
            parts = plan_parts(file.key, file.size_bytes, self.part_bytes)
            count = max(1, -(-file.size_bytes // self.part_bytes))
            yield from ((file, parts[index] if len(parts) > 1 else None) for index in range(count))


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, and the key to upload it to."""

    key: str
    first: int
    size_bytes: int


def plan_parts(key: str, size_bytes: int, part_bytes: int) -> tuple[FilePart, ...]:
    """Return the uploads of a file: the file itself, or below `incoming/` parts of equal size except the last."""
    if not is_upload(key) or size_bytes <= part_bytes:
        return (FilePart(key, 0, size_bytes),)
    firsts = range(0, size_bytes, part_bytes)
    return tuple(FilePart(f"{key}-{first}", first, min(part_bytes, size_bytes - first)) for first in firsts)


def upload_key(tenant: UUID, checkpoint: UUID, worker: str, entry: FileEntry) -> str:
    """Return the incoming key of a checkpoint file: the same key for an unchanged file, another for a changed one."""
    name = derived_id(checkpoint, worker, entry.path, entry.sha256, entry.size_bytes)
    return f"{upload_prefix(tenant, checkpoint)}{name}"


def upload_prefix(tenant: UUID, checkpoint: UUID) -> str:
    """Return the incoming prefix of a checkpoint."""
    return f"{INCOMING}{tenant}/{checkpoint}/"


def is_upload(key: str) -> bool:
    """Return whether the key is an incoming one, whose content may change after it was verified."""
    return key.startswith(INCOMING)


def bound_key(tenant: UUID, checkpoint: UUID, entry: FileEntry) -> str:
    """Return the final key of a checkpoint file, for a store that accepts only these bytes there."""
    return f"{kept_prefix(tenant, checkpoint)}{entry.sha256}-{entry.size_bytes}"


def is_awaited(tenant: UUID, checkpoint: UUID, key: str) -> bool:
    """Return whether the checkpoint's own workers upload to the key: contents that the tenant already had are elsewhere."""
    return is_upload(key) or key.startswith(kept_prefix(tenant, checkpoint))


def kept_key(tenant: UUID, checkpoint: UUID, attempt: UUID, file: File) -> str:
    """Return the key for a copy made by a commit attempt. No URL that writes other content there is ever signed."""
    prefix = kept_prefix(tenant, checkpoint)
    return f"{prefix}{attempt}/{derived_id(checkpoint, file.worker, file.path)}"


def kept_prefix(tenant: UUID, checkpoint: UUID) -> str:
    """Return the prefix of a checkpoint's kept objects, and of all attempts' copies."""
    return f"tenants/{tenant}/checkpoints/{checkpoint}/"


def artifact_key(tenant: UUID, kind: str, name: UUID | str) -> str:
    """Return the key of a verified artifact. No URL that writes other content there is ever signed."""
    return f"tenants/{tenant}/{kind}/{name}"


def log_key(tenant: UUID, trial: UUID, id: UUID) -> str:
    """Return the key of an object with lines of a trial's log."""
    return f"tenants/{tenant}/logs/{trial}/{id}"


def media_key(tenant: UUID, trial: UUID, pack: UUID) -> str:
    """Return the key of a trial's media pack. No URL that writes other content there is ever signed."""
    return f"tenants/{tenant}/media/{trial}/{pack}"


def incoming_key(tenant: UUID, kind: str, sha256: str, size_bytes: int) -> str:
    """Return the key to which an artifact is uploaded before it is verified."""
    return f"{INCOMING}{tenant}/{kind}-{sha256}-{size_bytes}"


def _link(file: File, signed: SignedPut) -> FileLink:
    return FileLink(
        path=file.path,
        size_bytes=file.size_bytes,
        sha256=file.sha256,
        url=signed.url,
        headers=dict(signed.headers),
    )
