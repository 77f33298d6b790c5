"""Convert the registry's checkpoint messages to API resources."""

from services.gateway.checkpoints import schema as checkpoints
from services.gateway.platform.json_values import finite_only, not_finite_only
from shared.messages.checkpoints import CheckpointView, FileLinks


def render_checkpoint(view: CheckpointView) -> checkpoints.Checkpoint:
    return checkpoints.Checkpoint(
        id=view.checkpoint_id,
        trial=view.trial_id,
        experiment=view.experiment_id,
        run=view.run_number,
        step=view.step,
        state=checkpoints.CheckpointState(view.state),
        size_bytes=view.size_bytes,
        files=len(view.files),
        metrics=finite_only(view.metrics),
        not_finite=not_finite_only(view.metrics),
        metadata=view.metadata,
        reason=view.reason,
        created_at=view.created_at,
        verified_at=view.verified_at,
    )


def render_checkpoint_whole(view: CheckpointView) -> checkpoints.Checkpoint:
    """Include the file manifest."""
    files = [checkpoints.CheckpointFile.model_validate(file, from_attributes=True) for file in view.files]
    return render_checkpoint(view).model_copy(update={"manifest": files})


def render_download(found: FileLinks) -> checkpoints.Download:
    files = [
        checkpoints.FileDownload(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256, url=file.url)
        for file in found.files
    ]
    return checkpoints.Download(checkpoint=found.checkpoint_id, step=found.step, files=files)
