"""What trials log beside numbers, as users see it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import JsonObject, PageRequest, Reference, Request, Resource


class MediaKind(StrEnum):
    """`events`: pieces of the event files that a script writes for TensorBoard."""

    IMAGE = "image"
    TABLE = "table"
    TEXT = "text"
    HISTOGRAM = "histogram"
    EVENTS = "events"


class MediaItem(Resource):
    """One image, table, text or histogram of a trial, or a piece of an event file; its bytes are `size_bytes` of `url` from `offset` on."""

    id: str
    kind: MediaKind
    group: str
    name: str = Field(description="Of `events`, the file's path.")
    step: int = Field(description="Of `events`, at which byte of the file the piece begins.")
    run: int
    time: datetime
    content_type: str
    size_bytes: int
    sha256: str
    url: str = Field(
        description="Read it with `Range: bytes=offset-(offset + size_bytes - 1)`; good for a while."
    )
    offset: int
    about: JsonObject = Field(default={}, description="An image's size and caption, a table's rows.")


class MediaPage(Resource):
    """A page of media in the order in which they were stored."""

    items: list[MediaItem]
    next_cursor: str | None = None


class ListTrialMediaRequest(PageRequest):
    """What a trial logged beside numbers; what a later run logged again counts once."""

    trial: Reference
    kind: Annotated[list[MediaKind], Field(max_length=8)] = []
    group: Annotated[str | None, Field(max_length=256)] = None
    name: Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=64)] = []
    first_step: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    last_step: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    after: Annotated[str | None, Field(max_length=64)] = Field(
        default=None, description="Only what was stored behind this one, by its id: for who follows."
    )


class TrialMediaRequest(Request):
    """One piece of a trial's media by its id."""

    trial: Reference
    media: Annotated[str, Field(min_length=1, max_length=64)]


class MediaContent(Resource):
    """The bytes of a piece, for who may ask no other host than this one."""

    id: str
    kind: MediaKind
    content_type: str
    size_bytes: int
    sha256: str
    base64: str


class MediaName(Resource):
    """All media of one kind, group and name."""

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
    """What a trial has logged, by name."""

    trial: Reference
