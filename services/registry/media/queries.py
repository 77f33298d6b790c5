"""Queries on media that trials logged, with URLs to read them."""

import re
from typing import get_args

from sqlalchemy import RowMapping

from services.registry.media import store as media
from services.registry.media.store import MediaQuery
from services.registry.storage.links import PresignedUrls, media_key
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound, Rejected
from shared.messages.media import (
    GetMedia,
    GetMediaNames,
    GetMediaPiece,
    MediaKind,
    MediaName,
    MediaNamePage,
    MediaPage,
    MediaView,
)

PER_PAGE = 200
BYTES_PER_PAGE = 300 * 1024
_START = (0, -1)
_ID = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})")
"""The pack's number and the item's index in it, within their ranges."""
_SEPARATOR = "\x1f"
"""A character that no name contains."""


class MediaQueries:
    """Answers queries on media."""

    def __init__(self, units: Units, links: PresignedUrls) -> None:
        self._units = units
        self._links = links

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetMedia: self.on_media, GetMediaPiece: self.on_piece, GetMediaNames: self.on_names}

    async def on_media(self, ask: RequestContext, query: GetMedia) -> MediaPage:
        """Return a page in storage order: media stored later come after it, and are found with its cursor."""
        limit = max(1, min(query.limit, PER_PAGE))
        wanted = MediaQuery(
            query.trial_id, query.kinds, query.group, query.names, query.first_step, query.last_step
        )
        async with self._units.tenant(ask.tenant) as unit:
            rows = await media.load_media(unit.connection, wanted, _position(query.after), limit + 1)
        urls = {row["pack_id"]: self._url(row) for row in rows[:limit]}
        views = _fitting([_view(row, urls[row["pack_id"]]) for row in rows[:limit]])
        return MediaPage(media=tuple(views), next=views[-1].id if len(rows) > len(views) else None)

    async def on_piece(self, ask: RequestContext, query: GetMediaPiece) -> MediaView:
        """Return the item unless it was superseded."""
        pack, index = _piece(query.id) or _START
        async with self._units.tenant(ask.tenant) as unit:
            rows = await media.load_media(unit.connection, MediaQuery(query.trial_id), (pack, index - 1), 1)
        if not rows or (rows[0]["pack"], rows[0]["position"]) != (pack, index):
            raise NotFound("this media item", "its trial may have been rolled back and logged the step again")
        return _view(rows[0], self._url(rows[0]))

    async def on_names(self, ask: RequestContext, query: GetMediaNames) -> MediaNamePage:
        """Return a page by kind, group and name."""
        limit = max(1, min(query.limit, PER_PAGE))
        async with self._units.tenant(ask.tenant) as unit:
            after = _name_cursor(query.after)
            rows = await media.load_names(unit.connection, query.trial_id, after, limit + 1)
        names = tuple(MediaName(**row) for row in rows[:limit])
        last = (names[-1].kind, names[-1].group, names[-1].name) if len(rows) > limit else ()
        return MediaNamePage(names=names, next=_SEPARATOR.join(last) or None)

    def _url(self, row: RowMapping) -> str:
        return self._links.read(media_key(row["tenant"], row["trial"], row["pack_id"]))


def _view(row: RowMapping, url: str) -> MediaView:
    return MediaView(
        id=f"{row['pack']}.{row['position']}",
        kind=row["kind"],
        group=row["group"],
        name=row["name"],
        step=row["step"],
        run_number=row["run_number"],
        time_ms=row["time_ms"],
        content_type=row["content_type"],
        size_bytes=row["size_bytes"],
        sha256=row["sha256"],
        url=url,
        offset=row["offset"],
        about=row["about"],
    )


def _fitting(views: list[MediaView]) -> list[MediaView]:
    """Return as many as fit into a reply with their URLs; at least one."""
    size = 0
    for count, view in enumerate(views):
        size += len(view.model_dump_json().encode())
        if size > BYTES_PER_PAGE and count:
            return views[:count]
    return views


def _position(after: str | None) -> tuple[int, int]:
    if after is None:
        return _START
    if (found := _piece(after)) is None:
        raise _bad_cursor()
    return found


def _piece(id: str) -> tuple[int, int] | None:
    found = _ID.fullmatch(id)
    return (int(found[1]), int(found[2])) if found else None


def _name_cursor(after: str | None) -> tuple[str, str, str]:
    if after is None:
        return "", "", ""
    kind, *rest = after.split(_SEPARATOR)
    if kind not in get_args(MediaKind) or len(rest) != 2:
        raise _bad_cursor()
    return kind, rest[0], rest[1]


def _bad_cursor() -> Rejected:
    return Rejected("bad_cursor", "the cursor is not valid; start without one", place="after")
