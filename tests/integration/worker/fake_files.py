"""What a fake registry knows of files: code, checkpoints and media, in a store that answers over real HTTP. Neighbour: `fakes`, which is asked over NATS."""

import hashlib
from collections import defaultdict
from uuid import UUID

from shared.bus import RequestContext
from shared.errors import NotFound, Transient
from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    CommittedMany,
    DamagedFile,
    Restore,
    Restored,
    Upload,
    UploadLinks,
    UploadLinksOfMany,
    UploadMany,
)
from shared.messages.files import CodeLink, FileEntry, FileLink, GetCode, PartLink
from shared.messages.media import CommitMedia, MediaCommitted, MediaItem, MediaTarget, SendMedia
from tests.integration.worker.store import FakeStore, key_of


class FakeFiles:
    """Answers of the registry about files. `away` makes it answer nothing but `try again`; `marks` is how far reports have come."""

    def __init__(self) -> None:
        self.away = False
        self.marks: dict[tuple[UUID, str, str], int] = defaultdict(lambda: 1)
        self.store = FakeStore()
        self.code: dict[UUID, str] = {}
        self.uploads: dict[UUID, dict[str, Upload]] = defaultdict(dict)
        self.committed: set[tuple[UUID, str]] = set()
        self.saved: list[Upload] = []
        self.restores: list[UUID] = []
        self.best: float | None = None
        self.damaged: list[DamagedFile] = []
        self.incomplete: list[str] = []
        self.no_room: str | None = None
        self.headers: dict[str, str] = {}
        self.media: dict[UUID, list[tuple[bytes, tuple[MediaItem, ...]]]] = defaultdict(list)
        self.media_sent: dict[UUID, SendMedia] = {}
        self.media_kept: set[UUID] = set()
        self.media_refused: str | None = None
        self.part_bytes = 2**30

    async def on_code(self, ask: RequestContext, request: GetCode) -> CodeLink:
        sha256 = self.code.get(request.run_id)
        if sha256 is None:
            raise NotFound("the code")
        size = len(self.store.objects.get(f"code/{sha256}", b"lost"))
        return CodeLink(sha256=sha256, size_bytes=size, url=f"{self.store.url}/code/{sha256}")

    async def on_restore(self, ask: RequestContext, request: Restore) -> Restored:
        if not request.first:
            self.restores.append(request.run_id)
        if not self.saved:
            return Restored()
        if request.damaged is not None:
            self.damaged.append(request.damaged)
            self.saved = [one for one in self.saved if one.checkpoint_id != request.damaged.checkpoint_id]
        newest = self.saved[-1]
        files = [self._link(newest, entry) for entry in newest.files]
        # One in an answer: the registry gives as many as fit into one.
        first = request.first or 0
        following = first + 1 if first + 1 < len(files) else None
        told = {"checkpoint_id": newest.checkpoint_id, "step": newest.step, "best": self.best}
        return Restored(**told, files=tuple(files[first : first + 1]), next=following)

    async def on_upload(self, ask: RequestContext, request: Upload) -> UploadLinks:
        if request.given_up is not None:
            return UploadLinks(files=(), state="abandoned", reason=request.given_up)
        if self.no_room is not None:
            return UploadLinks(files=(), state="abandoned", reason=self.no_room)
        if request.page is not None:
            before = self.uploads[request.checkpoint_id].get(str(ask.worker))
            here = {entry.path for entry in request.page.files}
            others = [entry for entry in before.files if entry.path not in here] if before else []
            whole = {"files": (*request.page.files, *others), "parts": request.page.parts}
            self.uploads[request.checkpoint_id][str(ask.worker)] = request.model_copy(update=whole)
            request = request.model_copy(update={"files": request.page.files})
        else:
            self.uploads[request.checkpoint_id][str(ask.worker)] = request
        known = {entry.sha256: key_of(one.checkpoint_id, entry) for one in self.saved for entry in one.files}
        for entry in request.files:
            if entry.sha256 in known:
                self.store.objects[key_of(request.checkpoint_id, entry)] = self.store.objects[
                    known[entry.sha256]
                ]
        links = [self._link(request, entry) for entry in request.files]
        asked = [(link, part) for link in links for part in link.parts or (None,)]
        # One request in an answer: the registry gives as many as fit into one.
        first = request.first or 0
        page = asked if request.first is None else asked[first : first + 1]
        following = first + 1 if request.first is not None and first + 1 < len(asked) else None
        told = [
            link.model_copy(update={"parts": () if part is None else (part,)})
            for link, part in page
            if link.sha256 not in known
        ]
        return UploadLinks(files=tuple(told), next=following)

    async def on_commit(self, ask: RequestContext, request: CommitCheckpoint) -> Committed:
        parts = self.uploads[request.checkpoint_id]
        upload = parts[str(ask.worker)]
        if self.marks[request.run_id, "reports", str(ask.worker)] <= request.after_report:
            return Committed(state="uploading", retry_after_s=0.05)
        assert request.files == len(upload.files), "pages are added up"
        for entry in upload.files:
            self._join(upload, entry)
            content = self.store.objects.get(key_of(upload.checkpoint_id, entry), b"")
            if hashlib.sha256(content).hexdigest() != entry.sha256:
                self.incomplete.append(entry.path)
                return Committed(state="uploading", reason=f"{entry.path} is not what was announced")
        self.committed.add((request.checkpoint_id, str(ask.worker)))
        if any((request.checkpoint_id, str(part)) not in self.committed for part in upload.parts):
            return Committed(state="uploading", retry_after_s=0.05)
        if request.checkpoint_id not in {one.checkpoint_id for one in self.saved}:
            files = [entry for part in parts.values() for entry in part.files]
            whole = {"files": tuple(sorted(files, key=lambda entry: entry.path))}
            self.saved.append(upload.model_copy(update=whole))
            # As the registry has them: those of a run by number, in whatever order small and large ones were sent.
            began = {one.run_id: place for place, one in reversed([*enumerate(self.saved)])}
            self.saved.sort(key=lambda one: (began[one.run_id], one.number))
        return Committed(state="saved")

    async def on_upload_many(self, ask: RequestContext, request: UploadMany) -> UploadLinksOfMany:
        return UploadLinksOfMany(answers=tuple([await self.on_upload(ask, one) for one in request.uploads]))

    async def on_commit_many(self, ask: RequestContext, request: CommitMany) -> CommittedMany:
        return CommittedMany(answers=tuple([await self.on_commit(ask, one) for one in request.commits]))

    async def on_send_media(self, ask: RequestContext, request: SendMedia) -> MediaTarget:
        if self.away:
            raise Transient("the registry is away in this test", retry_after_s=0.2)
        self.media_sent[request.pack_id] = request
        if request.pack_id in self.media_kept:
            return MediaTarget()
        return MediaTarget(url=f"{self.store.url}/media/{request.pack_id}", refused=self.media_refused)

    async def on_commit_media(self, ask: RequestContext, request: CommitMedia) -> MediaCommitted:
        sent = self.media_sent[request.pack_id]
        body = self.store.objects.get(f"media/{request.pack_id}", b"")
        if hashlib.sha256(body).hexdigest() != sent.sha256 or len(body) != sent.size_bytes:
            return MediaCommitted(is_missing=True)
        if request.pack_id not in self.media_kept:
            self.media_kept.add(request.pack_id)
            self.media[request.run_id].append((body, request.items))
        return MediaCommitted()

    def _link(self, upload: Upload, entry: FileEntry) -> FileLink:
        url = f"{self.store.url}/{key_of(upload.checkpoint_id, entry)}"
        firsts = range(0, entry.size_bytes, self.part_bytes) if entry.size_bytes > self.part_bytes else ()
        parts = [
            PartLink(
                first=first, size_bytes=min(self.part_bytes, entry.size_bytes - first), url=f"{url}-{first}"
            )
            for first in firsts
        ]
        return FileLink(**entry.model_dump(), url=url, headers=self.headers, parts=tuple(parts))

    def _join(self, upload: Upload, entry: FileEntry) -> None:
        """What came in parts lies under the file's own key, if all of them came."""
        key = key_of(upload.checkpoint_id, entry)
        firsts = range(0, entry.size_bytes, self.part_bytes)
        if key not in self.store.objects and len(firsts) > 1:
            self.store.objects[key] = b"".join(
                self.store.objects.get(f"{key}-{first}", b"") for first in firsts
            )
