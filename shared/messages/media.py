"""What trials log beside numbers: images, tables, texts, histograms, and pieces of TensorBoard's event files.

A worker sends them in packs: one object of the store that holds the bytes of many, each catalogued by where in the pack it lies.
"""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import RunId, TrialId
from shared.messages.base import Query, Record, WorkerRequest

MediaKind = Literal["image", "table", "text", "histogram", "events"]
ITEMS_PER_PACK = 500
PACK_BYTES = 24 * 1024 * 1024
"""A worker closes a pack at 8 MiB; its last piece has 16 MiB at most."""


class MediaItem(Record):
    """One piece in a pack, from byte `offset` of it on. Of `events`, `name` is the file's path and `step` the byte of the file at which the piece begins."""

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
    """PUT the pack to `url` with these `headers` and commit it; without one it is stored already, or `refused` says why it is not taken."""

    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    refused: str | None = None


class SendMedia(WorkerRequest[MediaTarget], owner="registry", kind="send_media"):
    """Asks for a signed PUT for a pack; repeating it repeats the answer. `takes_headers`: the worker sends the headers that the answer names."""

    run_id: RunId
    pack_id: UUID
    size_bytes: int
    sha256: str
    takes_headers: bool = False


class MediaCommitted(BaseModel):
    """The pack is settled. `refused`: what of it is not kept, and why; `is_missing`: it has to be sent, again."""

    is_missing: bool = False
    refused: str | None = None


class CommitMedia(WorkerRequest[MediaCommitted], owner="registry", kind="commit_media"):
    """What lies in a pack that was sent; kept once its size and hash are right. Repeatable."""

    run_id: RunId
    pack_id: UUID
    items: tuple[MediaItem, ...]


class MediaView(Record):
    """A piece of media that counts, and where its bytes are: those from `offset` on of what `url` reads (a `Range` header gets them alone)."""

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
    """A trial's media in the order in which they were stored; what a later run superseded is left out, but for event files."""

    trial_id: TrialId
    kinds: tuple[MediaKind, ...] = ()
    group: str | None = None
    names: tuple[str, ...] = ()
    first_step: int | None = None
    last_step: int | None = None
    after: str | None = None
    limit: int = 100


class GetMediaPiece(Query[MediaView], owner="registry", name="media_piece"):
    """One piece of a trial's media by its id. Not found where it is none of this trial, or counts no more."""

    trial_id: TrialId
    id: str


class MediaName(Record):
    """All of one name together. Of `events`, the steps are bytes of the file."""

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
    """What a trial has logged, by kind, group and name; `after` is the last of the page before."""

    trial_id: TrialId
    after: str | None = None
    limit: int = 100
