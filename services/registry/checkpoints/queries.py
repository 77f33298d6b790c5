"""Queries on checkpoints, and presigned URLs of their files."""

import json
from datetime import datetime
from typing import cast
from uuid import UUID

from services.registry.checkpoints import events
from services.registry.checkpoints.store import checkpoints
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.store.metrics import load_metrics
from services.registry.core.checkpoint import PUBLIC, CheckpointStatus
from services.registry.storage.links import PresignedUrls
from services.registry.storage.store import files as manifests, objects
from services.registry.storage.store.files import File
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, NotFound, Rejected
from shared.filters.fields import Listing, ListQuery, Position
from shared.ids import CheckpointId, ExperimentId, TrialId
from shared.messages.checkpoints import (
    CheckpointFields,
    CheckpointPage,
    CheckpointView,
    FileLinks,
    GetCheckpointFiles,
    ListCheckpoints,
)

CHECKPOINTS_PER_PAGE = 500
BYTES_PER_PAGE = 300 * 1024
LISTING = Listing.of(CheckpointFields, *CheckpointFields.model_fields, usual="created_at,id")


class CheckpointQueries:
    """Answers queries on checkpoints."""

    def __init__(self, units: Units, links: PresignedUrls) -> None:
        self._units = units
        self._links = links

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {ListCheckpoints: self.on_checkpoints, GetCheckpointFiles: self.on_checkpoint_files}

    async def on_checkpoints(self, ask: RequestContext, query: ListCheckpoints) -> CheckpointPage:
        """Return checkpoints in order of creation, including those being uploaded."""
        limit = max(1, min(query.limit, CHECKPOINTS_PER_PAGE))
        async with self._units.tenant(ask.tenant) as unit:
            if query.checkpoint_id is not None:
                one = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id)
                return CheckpointPage(checkpoints=tuple(await _views(unit, [one] if one else [])))
            filter_, orders = LISTING.read(query.filter, query.sort)
            wanted = ListQuery(filter_, orders, _position(query.after), limit)
            found, is_more = await checkpoints.load_checkpoints(
                unit.connection, wanted, trial=query.trial_id, experiment=query.experiment_id
            )
            views = _fitting(await _views(unit, [one for one, _ in found]))
        has_more = is_more or len(views) < len(found)
        after = json.dumps(found[len(views) - 1][1]) if has_more else None
        return CheckpointPage(checkpoints=tuple(views), next=after)

    async def on_checkpoint_files(self, ask: RequestContext, query: GetCheckpointFiles) -> FileLinks:
        """Return a saved checkpoint's files with URLs to read them; their hashes let the client verify the download."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id)
            if found is None:
                raise NotFound(f"checkpoint {query.checkpoint_id}")
            files = (await manifests.load_files(unit.connection, [found.id]))[found.id]
        if found.state is not CheckpointStatus.saved:
            raise Conflict("checkpoint_not_saved", f"checkpoint {found.id} is {PUBLIC[found.state]}")
        links, following = self._links.read_files(files, query.first)
        return FileLinks(checkpoint_id=CheckpointId(found.id), step=found.step, files=links, next=following)


async def load_view(unit: Unit, checkpoint: UUID) -> CheckpointView:
    """Return a known checkpoint as clients see it."""
    found = await checkpoints.load_checkpoint(unit.connection, checkpoint)
    if found is None:
        raise NotFound(f"checkpoint {checkpoint}")
    [view] = await _views(unit, [found])
    return view


async def _views(unit: Unit, page: list[CheckpointRow]) -> list[CheckpointView]:
    wanted = [one.id for one in page]
    files = await manifests.load_files(unit.connection, wanted)
    metrics = await load_metrics(unit.connection, page)
    verified = await objects.load_verified(unit.connection, wanted)
    return [_view(one, files[one.id], metrics.get(one.id, {}), verified.get(one.id)) for one in page]


def _fitting(views: list[CheckpointView]) -> list[CheckpointView]:
    """Return as many as fit into a reply with their files and metadata; at least one."""
    size = 0
    for count, view in enumerate(views):
        size += len(view.model_dump_json().encode())
        if size > BYTES_PER_PAGE and count:
            return views[:count]
    return views


def _view(
    one: CheckpointRow, files: list[File], metrics: dict[str, float], verified_at: datetime | None
) -> CheckpointView:
    return CheckpointView(
        checkpoint_id=CheckpointId(one.id),
        trial_id=TrialId(one.trial),
        experiment_id=ExperimentId(one.experiment),
        run_number=one.run_number,
        step=one.step,
        state=PUBLIC[one.state],
        files=tuple(map(events.file_entry, files)),
        size_bytes=one.size_bytes,
        metrics=metrics,
        metadata=dict(one.metadata),
        created_at=one.created_at,
        reason=one.reason,
        verified_at=verified_at if one.state is CheckpointStatus.saved else None,
    )


def _position(text: str | None) -> Position | None:
    """Parse the cursor. Replicas of the previous version use `time|id`."""
    if text is None:
        return None
    try:
        return cast(Position, json.loads(text) if text.startswith("[") else text.split("|"))
    except ValueError:
        raise Rejected("bad_cursor", "the cursor is not valid; start without one", place="after") from None
