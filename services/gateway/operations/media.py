"""Media of trials: the registry's to answer, ours to check whose they are."""

from services.gateway.api.media import (
    ListTrialMediaNamesRequest,
    ListTrialMediaRequest,
    MediaItem,
    MediaKind,
    MediaName,
    MediaNamePage,
    MediaPage,
)
from services.gateway.operations.call import Call
from services.gateway.operations.find import find_trial
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render import to_time
from shared.ids import TrialId
from shared.messages.media import GetMedia, GetMediaNames, MediaView


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
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
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
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    return MediaNamePage(
        items=[MediaName.model_validate(name.model_dump()) for name in found.names],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


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
