"""Resolve checkpoint references and check that the caller may see them."""

from uuid import UUID

from muster.errors import NotFound
from services.gateway.checkpoints.render import render_download
from services.gateway.checkpoints.schema import Download
from services.gateway.experiments import store
from services.gateway.platform.call_context import Call
from services.gateway.platform.references import parse_uuid
from shared.ids import CheckpointId
from shared.messages.checkpoints import CheckpointView, GetCheckpointFiles, ListCheckpoints
from shared.messages.files import FileLink


async def download_files(call: Call, checkpoint: UUID) -> Download:
    """Fetch the download links of a checkpoint's files from the registry, page by page; saved files never change between pages."""
    files: list[FileLink] = []
    first: int | None = 0
    while first is not None:
        question = GetCheckpointFiles(checkpoint_id=CheckpointId(checkpoint), first=first)
        page = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
        files += page.files
        first = page.next
    return render_download(page.model_copy(update={"files": tuple(files)}))


async def visible_id(call: Call, reference: str) -> UUID:
    """Return the checkpoint id of a reference. Raises NotFound if it does not exist or the caller lacks permission."""
    found = checkpoint_id(reference)
    await check_visible(call, found)
    return found


async def check_visible(call: Call, checkpoint: UUID) -> None:
    """Raises NotFound if the caller lacks permission for the checkpoint's experiment. Only the registry knows the experiment; it is
    asked only for callers with limited visibility."""
    if not call.sees_all_experiments:
        await check_whose(call, await load_view(call, checkpoint))


async def load_view(call: Call, checkpoint: UUID) -> CheckpointView:
    question = ListCheckpoints(checkpoint_id=CheckpointId(checkpoint), limit=1)
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    if not found.checkpoints:
        raise NotFound(f"checkpoint {checkpoint}")
    return found.checkpoints[0]


async def check_whose(call: Call, view: CheckpointView) -> None:
    if call.sees_all_experiments:
        return
    async with call.read() as connection:
        if await store.load_experiment(connection, view.experiment_id) is None:
            raise NotFound(f"checkpoint {view.checkpoint_id}")


def checkpoint_id(reference: str) -> UUID:
    """Parse a checkpoint id. Raises NotFound for a malformed id, as for an unknown one."""
    found = parse_uuid(reference)
    if found is None:
        raise NotFound(f"checkpoint {reference}")
    return found
