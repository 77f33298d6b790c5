"""List and read media of trials. The registry answers; the gateway checks permissions, and proxies content for the dashboard."""

import base64
import hashlib

import aiohttp

from muster.errors import Broken, Rejected, Transient
from services.gateway.media.schema import (
    ListTrialMediaNamesRequest,
    ListTrialMediaRequest,
    MediaContent,
    MediaItem,
    MediaKind,
    MediaName,
    MediaNamePage,
    MediaPage,
    TrialMediaRequest,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.json_values import to_time
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.trials.find import find_trial
from shared.ids import TrialId
from shared.messages.media import GetMedia, GetMediaNames, GetMediaPiece, MediaView

MAX_INLINE_BYTES = 4 * 1024 * 1024
"""Larger items are refused: the gateway would hold the bytes, their base64 text and the JSON in memory."""


async def list_trial_media(call: Call, request: ListTrialMediaRequest) -> MediaPage:
    """List the media that a trial logged, in storage order, with download URLs."""
    trial = await find_trial(call, request.trial)
    position = read_cursor(call, request, request.cursor)
    question = GetMedia(
        trial_id=TrialId(trial.id),
        kinds=tuple(kind.value for kind in request.kind),
        group=request.group,
        names=tuple(request.name),
        first_step=request.first_step,
        last_step=request.last_step,
        after=str(position[0]) if position else request.after,
        limit=request.limit,
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return MediaPage(
        items=[_render(view) for view in found.media],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


async def list_trial_media_names(call: Call, request: ListTrialMediaNamesRequest) -> MediaNamePage:
    """List the names under which a trial logged media, with counts and sizes."""
    trial = await find_trial(call, request.trial)
    position = read_cursor(call, request, request.cursor)
    question = GetMediaNames(
        trial_id=TrialId(trial.id), after=str(position[0]) if position else None, limit=request.limit
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return MediaNamePage(
        items=[MediaName.model_validate(name.model_dump()) for name in found.names],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


async def get_trial_media_content(call: Call, request: TrialMediaRequest) -> MediaContent:
    """Get the content of a media item from the object store, verified by its hash."""
    trial = await find_trial(call, request.trial)
    question = GetMediaPiece(trial_id=TrialId(trial.id), id=request.media)
    view = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    if view.size_bytes > MAX_INLINE_BYTES:
        raise Rejected(
            "media_too_large",
            f"the item has {view.size_bytes} bytes; this operation returns at most {MAX_INLINE_BYTES}",
            hint="download it from its `url`, or use `muster trial media download`",
        )
    content = await _read(call, view) if view.size_bytes else b""
    if hashlib.sha256(content).hexdigest() != view.sha256:
        raise Broken(f"{view.name} of step {view.step} is corrupt: its SHA-256 does not match")
    return MediaContent(
        id=view.id,
        kind=MediaKind(view.kind),
        content_type=view.content_type,
        size_bytes=view.size_bytes,
        sha256=view.sha256,
        base64=base64.b64encode(content).decode(),
    )


async def _read(call: Call, view: MediaView) -> bytes:
    """Read only the item's byte range of its pack file."""
    span = f"bytes={view.offset}-{view.offset + view.size_bytes - 1}"
    try:
        async with call.dependencies.http.get(
            view.url, headers={"Range": span, "Accept-Encoding": "identity"}
        ) as answer:
            if answer.status != 206:
                raise Transient(f"the object store did not return the media item (HTTP {answer.status})")
            return await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Transient(f"the object store did not return the media item: {type(error).__name__}") from error


def _render(view: MediaView) -> MediaItem:
    return MediaItem(
        id=view.id,
        kind=MediaKind(view.kind),
        group=view.group,
        name=view.name,
        step=view.step,
        run=view.run_number,
        time=to_time(view.time_ms),
        content_type=view.content_type,
        size_bytes=view.size_bytes,
        sha256=view.sha256,
        url=view.url,
        offset=view.offset,
        about=view.about,
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListTrialMedia", "GET", "/v1/trials/{trial}/media", ListTrialMediaRequest, MediaPage, READ_EXPERIMENT, SAFE, list_trial_media, waits=True),
    Operation("ListTrialMediaNames", "GET", "/v1/trials/{trial}/media/names", ListTrialMediaNamesRequest, MediaNamePage, READ_EXPERIMENT, SAFE, list_trial_media_names, waits=True),
    Operation("GetTrialMediaContent", "GET", "/v1/trials/{trial}/media/{media}/content", TrialMediaRequest, MediaContent, READ_EXPERIMENT, SAFE, get_trial_media_content, waits=True),
)
# fmt: on
