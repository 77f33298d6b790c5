"""Media that trials log: images, tables, texts, histograms, and chunks of TensorBoard event files.

A worker sends them in packs. A pack is one object in the store that holds many items; the catalogue records each item's byte range.
"""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import RunId, TrialId
from shared.messages.base import Query, Record, WorkerRequest

MediaKind = Literal["image", "table", "text", "histogram", "events"]
ITEMS_PER_PACK = 500
PACK_BYTES = 24 * 1024 * 1024
"""A worker closes a pack at 8 MiB; its last item has at most 16 MiB."""


class MediaItem(Record):
    """One item of a pack, starting at byte `offset`.

    For kind `events`, `name` is the file's path and `step` is the offset of the chunk in that file.
    """

    kind: MediaKind
    group: str
    name: str
    step: int
    time_ms: int
    content_type: str
    offset: int
    size_bytes: int
    sha256: str
    about: dict[str, JsonValue] = Field(default_factory=dict)


class MediaTarget(BaseModel):
    """Where to upload a pack: PUT it to `url` with these `headers`, then commit it.

    `url` None: the pack is stored already, or `refused` says why it is rejected.
    """

    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    refused: str | None = None


class SendMedia(WorkerRequest[MediaTarget], owner="registry", kind="send_media"):
    """Request a signed PUT for a pack. Idempotent. `takes_headers`: the worker sends the headers that the answer names."""

    run_id: RunId
    pack_id: UUID
    size_bytes: int
    sha256: str
    takes_headers: bool = False


class MediaCommitted(BaseModel):
    """Result of a commit. `refused`: which items were rejected, and why. `is_missing`: the pack must be uploaded again."""

    is_missing: bool = False
    refused: str | None = None


class CommitMedia(WorkerRequest[MediaCommitted], owner="registry", kind="commit_media"):
    """Catalogue the items of an uploaded pack once its size and hash match. Idempotent."""

    run_id: RunId
    pack_id: UUID
    items: tuple[MediaItem, ...]


class MediaView(Record):
    """A media item that counts, and its location: its bytes start at `offset` of the object at `url` (use a `Range` header)."""

    id: str
    kind: MediaKind
    group: str
    name: str
    step: int
    run_number: int
    time_ms: int
    content_type: str
    size_bytes: int
    sha256: str
    url: str
    offset: int
    about: dict[str, JsonValue] = Field(default_factory=dict)


class MediaPage(BaseModel):
    media: tuple[MediaView, ...]
    next: str | None = None


class GetMedia(Query[MediaPage], owner="registry", name="media"):
    """Return a trial's media in storage order, without superseded items; event files are never superseded."""

    trial_id: TrialId
    kinds: tuple[MediaKind, ...] = ()
    group: str | None = None
    names: tuple[str, ...] = ()
    first_step: int | None = None
    last_step: int | None = None
    after: str | None = None
    limit: int = 100


class GetMediaPiece(Query[MediaView], owner="registry", name="media_piece"):
    """Return one media item of a trial by its id. NotFound if it belongs to another trial or was superseded."""

    trial_id: TrialId
    id: str


class MediaName(Record):
    """All items of one name. For kind `events`, steps are byte offsets in the file."""

    kind: MediaKind
    group: str
    name: str
    count: int
    size_bytes: int
    first_step: int
    last_step: int


class MediaNamePage(BaseModel):
    names: tuple[MediaName, ...]
    next: str | None = None


class GetMediaNames(Query[MediaNamePage], owner="registry", name="media_names"):
    """Return the names that a trial has logged, by kind, group and name. `after`: the last entry of the previous page."""

    trial_id: TrialId
    after: str | None = None
    limit: int = 100
