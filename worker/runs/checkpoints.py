"""Checkpoints of a run: from rank 0's announcement into the uploads, and from the registry's decision into the cache."""

from pathlib import Path

from muster import wire
from shared.ids import CheckpointId, WorkerId, derived_id
from worker.runs.context import RunContext
from worker.transfer.checkpoints.upload import Announced, drop_folder


def announce_checkpoint(context: RunContext, frame: wire.CheckpointFrame) -> None:
    """Persist an announced checkpoint for its upload. Its directory must be one of the run's own.

    Raises:
        OSError: The disk is full or broken.
    """
    folder = Path(frame.directory)
    if folder.parent != context.paths.checkpoints or folder.name in ("", ".", "..") or "\0" in folder.name:
        context.tail.log(
            f"checkpoint {frame.number} was rejected: {frame.directory} is not in the run's checkpoint directory",
            "error",
        )
        return
    try:
        record = _record_of(context, frame, folder)
    except ValueError as error:
        context.tail.log(f"checkpoint {frame.number} was rejected: it cannot be stored: {error}", "error")
        return
    context.uploads.add(record)
    context.phases.on_written(frame.number, frame.step, frame.written_s)


def _record_of(context: RunContext, frame: wire.CheckpointFrame, folder: Path) -> Announced:
    """Return the record of an announced checkpoint. Raises ValueError if the next daemon could not read it, such as deep metadata."""
    run_id = context.run.run_id
    record = Announced(
        run_id=run_id,
        checkpoint_id=CheckpointId(derived_id(run_id, "checkpoint", frame.number)),
        number=frame.number,
        step=frame.step,
        directory=folder,
        after_report=frame.after_report,
        metadata=dict(frame.metadata),
        parts=tuple(WorkerId(str(part)) for part in frame.parts),
        announced_at=context.tools.clock.now(),
    )
    return Announced.model_validate_json(record.model_dump_json())


def settle_checkpoint(context: RunContext, record: Announced) -> None:
    """Apply the registry's decision: move a saved checkpoint's files into the cache, and delete others."""
    context.phases.on_uploaded(record.number, record.step, record.announced_at)
    if began := record.announced_at:
        context.session.settle(record.number, (context.tools.clock.now() - began).total_seconds())
    if record.state == "saved":
        tenant = context.stored.allocation.tenant
        context.tools.checkpoints.keep(tenant, record.directory, record.files or ())
    else:
        drop_folder(record.directory)
        context.tail.log(
            f"checkpoint {record.number} of step {record.step} was not stored: {record.state}", "warning"
        )
