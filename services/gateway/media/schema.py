"""API schema of media: images, tables, texts, histograms and event files that trials log."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import JsonObject, PageRequest, Reference, Request, Resource


class MediaKind(StrEnum):
    """Kind of media. `events`: chunks of TensorBoard event files."""

    IMAGE = "image"
    TABLE = "table"
    TEXT = "text"
    HISTOGRAM = "histogram"
    EVENTS = "events"


class MediaItem(Resource):
    """An image, table, text or histogram of a trial, or a chunk of an event file. Its content is `size_bytes` bytes of `url`, starting at `offset`."""

    id: str
    kind: MediaKind
    group: str
    name: str = Field(description="Name as logged; for `events`, the path of the file.")
    step: int = Field(description="Training step; for `events`, the byte offset of the chunk in the file.")
    run: int
    time: datetime
    content_type: str
    size_bytes: int
    sha256: str
    url: str = Field(
        description="Temporary URL. Read it with `Range: bytes=offset-(offset + size_bytes - 1)`."
    )
    offset: int
    about: JsonObject = Field(
        default={}, description="Metadata such as the size and caption of an image, or the rows of a table."
    )


class MediaPage(Resource):
    """A page of media in the order in which they were stored."""

    items: list[MediaItem]
    next_cursor: str | None = None


class ListTrialMediaRequest(PageRequest):
    """Filters for a trial's media. Items that a later run logged again appear once."""

    trial: Reference
    kind: Annotated[list[MediaKind], Field(max_length=8)] = []
    group: Annotated[str | None, Field(max_length=256)] = None
    name: Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=64)] = []
    first_step: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    last_step: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    after: Annotated[str | None, Field(max_length=64)] = Field(
        default=None,
        description="Id of an item; returns only items stored after it. Use it to poll for new media.",
    )


class TrialMediaRequest(Request):
    """A media item of a trial by its id."""

    trial: Reference
    media: Annotated[str, Field(min_length=1, max_length=64)]


class MediaContent(Resource):
    """Content of a media item, for clients that cannot reach the object store."""

    id: str
    kind: MediaKind
    content_type: str
    size_bytes: int
    sha256: str
    base64: str


class MediaName(Resource):
    """Summary of the media of one kind, group and name."""

    kind: MediaKind
    group: str
    name: str
    count: int
    size_bytes: int
    first_step: int
    last_step: int


class MediaNamePage(Resource):
    """A page of names, by kind, group and name."""

    items: list[MediaName]
    next_cursor: str | None = None


class ListTrialMediaNamesRequest(PageRequest):
    """A trial whose media names to list."""

    trial: Reference
