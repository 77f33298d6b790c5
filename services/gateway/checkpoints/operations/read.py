"""List, show and download checkpoints. The registry answers these queries."""

from services.gateway.checkpoints.find import (
    check_whose,
    checkpoint_id,
    download_files,
    load_view,
    visible_id,
)
from services.gateway.checkpoints.render import render_checkpoint, render_checkpoint_whole
from services.gateway.checkpoints.schema import (
    Checkpoint,
    CheckpointPage,
    CheckpointRequest,
    Download,
    ListExperimentCheckpointsRequest,
    ListTrialCheckpointsRequest,
)
from services.gateway.experiments.find import find_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, read_wanted
from services.gateway.trials.find import find_trial
from shared.ids import ExperimentId, TrialId
from shared.messages.checkpoints import ListCheckpoints


async def list_trial_checkpoints(call: Call, request: ListTrialCheckpointsRequest) -> CheckpointPage:
    """List a trial's checkpoints, oldest first by default."""
    trial = await find_trial(call, request.trial)
    return await _list_page(call, request, trial=TrialId(trial.id))


async def list_experiment_checkpoints(
    call: Call, request: ListExperimentCheckpointsRequest
) -> CheckpointPage:
    """List the checkpoints of all trials of an experiment, oldest first by default."""
    experiment = await find_experiment(call, request.experiment)
    return await _list_page(call, request, experiment=ExperimentId(experiment.id))


async def get_checkpoint(call: Call, request: CheckpointRequest) -> Checkpoint:
    """Show one checkpoint with its files."""
    view = await load_view(call, checkpoint_id(request.checkpoint))
    await check_whose(call, view)
    return render_checkpoint_whole(view)


async def download_checkpoint(call: Call, request: CheckpointRequest) -> Download:
    """Get a download URL and the hash of each file of a checkpoint."""
    return await download_files(call, await visible_id(call, request.checkpoint))


async def _list_page(
    call: Call,
    request: ListTrialCheckpointsRequest | ListExperimentCheckpointsRequest,
    trial: TrialId | None = None,
    experiment: ExperimentId | None = None,
) -> CheckpointPage:
    # Parsed here too, so that errors name the request field; the registry gets the raw expressions.
    position = read_wanted(call, request).after
    question = ListCheckpoints(
        trial_id=trial,
        experiment_id=experiment,
        after=str(position[0]) if position else None,
        limit=request.limit,
        filter=request.filter,
        sort=request.sort,
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return CheckpointPage(
        items=[render_checkpoint(view) for view in found.checkpoints],
        next_cursor=make_cursor(call, request, [found.next]) if found.next else None,
    )
