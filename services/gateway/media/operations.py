"""Media of trials: the registry's to answer, ours to check whose they are, and to read for pages that ask no other host."""

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
from services.gateway.platform.call import Call
from services.gateway.platform.json_values import to_time
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.trials.find import find_trial
from shared.ids import TrialId
from shared.messages.media import GetMedia, GetMediaNames, GetMediaPiece, MediaView

MAX_INLINE_BYTES = 4 * 1024 * 1024
"""Of a larger one this process would hold its bytes, their letters and their JSON at a time."""


async def list_trial_media(call: Call, request: ListTrialMediaRequest) -> MediaPage:
    """Lists what a trial logged beside numbers, in the order of storing, with URLs that read it."""
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
    found = await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
    return MediaPage(
        items=[_render(view) for view in found.media],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


async def list_trial_media_names(call: Call, request: ListTrialMediaNamesRequest) -> MediaNamePage:
    """Lists the names under which a trial logged media, with how many and how large they are."""
    trial = await find_trial(call, request.trial)
    position = read_cursor(call, request, request.cursor)
    question = GetMediaNames(
        trial_id=TrialId(trial.id), after=str(position[0]) if position else None, limit=request.limit
    )
    found = await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
    return MediaNamePage(
        items=[MediaName.model_validate(name.model_dump()) for name in found.names],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


async def get_trial_media_content(call: Call, request: TrialMediaRequest) -> MediaContent:
    """Reads a piece from the object store, checked by its hash."""
    trial = await find_trial(call, request.trial)
    question = GetMediaPiece(trial_id=TrialId(trial.id), id=request.media)
    view = await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
    if view.size_bytes > MAX_INLINE_BYTES:
        raise Rejected(
            "media_too_large",
            f"it has {view.size_bytes} bytes, and at most {MAX_INLINE_BYTES} are read here",
            hint="read it by its `url`, or fetch it with `muster trial media download`",
        )
    content = await _read(call, view) if view.size_bytes else b""
    if hashlib.sha256(content).hexdigest() != view.sha256:
        raise Broken(f"{view.name} of step {view.step} is not what was stored: it is damaged")
    return MediaContent(
        id=view.id,
        kind=MediaKind(view.kind),
        content_type=view.content_type,
        size_bytes=view.size_bytes,
        sha256=view.sha256,
        base64=base64.b64encode(content).decode(),
    )


async def _read(call: Call, view: MediaView) -> bytes:
    """The piece's bytes and no others of its pack."""
    span = f"bytes={view.offset}-{view.offset + view.size_bytes - 1}"
    try:
        async with call.doors.http.get(
            view.url, headers={"Range": span, "Accept-Encoding": "identity"}
        ) as answer:
            if answer.status != 206:
                raise Transient(f"the object store did not give what was logged (HTTP {answer.status})")
            return await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Transient(f"the object store did not give what was logged: {type(error).__name__}") from error


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
