"""Reading checkpoints and where their files can be fetched: the registry's to answer."""

from uuid import UUID

from muster.errors import NotFound
from services.gateway.checkpoints.schema import (
    Checkpoint,
    CheckpointPage,
    CheckpointRequest,
    Download,
    ListExperimentCheckpointsRequest,
    ListTrialCheckpointsRequest,
)
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment, find_trial, parse_uuid
from services.gateway.platform.call import Call
from services.gateway.platform.lists.paging import make_cursor, read_wanted
from services.gateway.trials.render import render_checkpoint, render_checkpoint_whole, render_download
from shared.ids import CheckpointId, ExperimentId, TrialId
from shared.messages.checkpoints import CheckpointView, GetCheckpointFiles, ListCheckpoints
from shared.messages.files import FileLink


async def list_trial_checkpoints(call: Call, request: ListTrialCheckpointsRequest) -> CheckpointPage:
    """Lists a trial's checkpoints in the order of their making, or as they are sorted."""
    trial = await find_trial(call, request.trial)
    return await _list_page(call, request, trial=TrialId(trial.id))


async def list_experiment_checkpoints(
    call: Call, request: ListExperimentCheckpointsRequest
) -> CheckpointPage:
    """Lists the checkpoints of all trials of an experiment in the order of their making, or as they are sorted."""
    experiment = await find_experiment(call, request.experiment)
    return await _list_page(call, request, experiment=ExperimentId(experiment.id))


async def get_checkpoint(call: Call, request: CheckpointRequest) -> Checkpoint:
    """Shows one checkpoint."""
    view = await _load(call, checkpoint_id(request.checkpoint))
    await _check_whose(call, view)
    return render_checkpoint_whole(view)


async def download_checkpoint(call: Call, request: CheckpointRequest) -> Download:
    """Says where each file of a checkpoint can be fetched, with its hash."""
    return await download_files(call, await visible_id(call, request.checkpoint))


async def download_files(call: Call, checkpoint: UUID) -> Download:
    """Asks the registry for links to a checkpoint's files, page by page: what is saved does not change."""
    files: list[FileLink] = []
    first: int | None = 0
    while first is not None:
        question = GetCheckpointFiles(checkpoint_id=CheckpointId(checkpoint), first=first)
        page = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
        files += page.files
        first = page.next
    return render_download(page.model_copy(update={"files": tuple(files)}))


async def _list_page(
    call: Call,
    request: ListTrialCheckpointsRequest | ListExperimentCheckpointsRequest,
    trial: TrialId | None = None,
    experiment: ExperimentId | None = None,
) -> CheckpointPage:
    # Read here too, so that what is wrong is told with its place; the registry chooses by the texts.
    position = read_wanted(call, request).after
    question = ListCheckpoints(
        trial_id=trial,
        experiment_id=experiment,
        after=str(position[0]) if position else None,
        limit=request.limit,
        filter=request.filter,
        sort=request.sort,
    )
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    return CheckpointPage(
        items=[render_checkpoint(view) for view in found.checkpoints],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )


async def visible_id(call: Call, reference: str) -> UUID:
    """The id that a path names. Raises NotFound where the caller may not do this with it, as where there is none."""
    found = checkpoint_id(reference)
    await check_visible(call, found)
    return found


async def check_visible(call: Call, checkpoint: UUID) -> None:
    """Raises NotFound where its experiment is none of those with which the caller may do this. Only the registry knows whose it is,
    and is not asked where nothing is kept from the caller."""
    if not call.sees_all_experiments:
        await _check_whose(call, await _load(call, checkpoint))


async def _load(call: Call, checkpoint: UUID) -> CheckpointView:
    question = ListCheckpoints(checkpoint_id=CheckpointId(checkpoint), limit=1)
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    if not found.checkpoints:
        raise NotFound("the checkpoint")
    return found.checkpoints[0]


async def _check_whose(call: Call, view: CheckpointView) -> None:
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
