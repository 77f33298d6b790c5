"""From what a path names to the checkpoint: the registry is asked where the caller does not see all experiments."""

from uuid import UUID

from muster.errors import NotFound
from services.gateway.checkpoints.render import render_download
from services.gateway.checkpoints.schema import Download
from services.gateway.experiments import store
from services.gateway.platform.call import Call
from services.gateway.platform.references import parse_uuid
from shared.ids import CheckpointId
from shared.messages.checkpoints import CheckpointView, GetCheckpointFiles, ListCheckpoints
from shared.messages.files import FileLink


async def download_files(call: Call, checkpoint: UUID) -> Download:
    """Asks the registry for links to a checkpoint's files, page by page: what is saved does not change."""
    files: list[FileLink] = []
    first: int | None = 0
    while first is not None:
        question = GetCheckpointFiles(checkpoint_id=CheckpointId(checkpoint), first=first)
        page = await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
        files += page.files
        first = page.next
    return render_download(page.model_copy(update={"files": tuple(files)}))


async def visible_id(call: Call, reference: str) -> UUID:
    """The id that a path names. Raises NotFound where the caller may not do this with it, as where there is none."""
    found = checkpoint_id(reference)
    await check_visible(call, found)
    return found


async def check_visible(call: Call, checkpoint: UUID) -> None:
    """Raises NotFound where its experiment is none of those with which the caller may do this. Only the registry knows whose it is,
    and is not asked where nothing is kept from the caller."""
    if not call.sees_all_experiments:
        await check_whose(call, await load_view(call, checkpoint))


async def load_view(call: Call, checkpoint: UUID) -> CheckpointView:
    question = ListCheckpoints(checkpoint_id=CheckpointId(checkpoint), limit=1)
    found = await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
    if not found.checkpoints:
        raise NotFound("the checkpoint")
    return found.checkpoints[0]


async def check_whose(call: Call, view: CheckpointView) -> None:
    if call.sees_all_experiments:
        return
    async with call.read() as connection:
        if await store.load_experiment(connection, view.experiment_id) is None:
            raise NotFound("the checkpoint")


def checkpoint_id(reference: str) -> UUID:
    """The id that a path names; what is no id is as unknown as an absent one."""
    found = parse_uuid(reference)
    if found is None:
        raise NotFound("the checkpoint")
    return found
