"""The trial file: what the processes of a run need from its allocation."""

from muster import wire
from muster.errors import Rejected
from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import TrialSpec
from worker.core.run.records import LocalRun
from worker.machine.host import Machine
from worker.paths import RunPaths
from worker.transfer.checkpoints.restore import Latest


def spec_of(allocation: DesiredAllocation) -> TrialSpec:
    """Return the allocation's spec; a stored allocation always has one."""
    if allocation.spec is None:
        raise Rejected("spec_missing", f"allocation {allocation.allocation_id} came without its spec")
    return allocation.spec


def is_elastic(spec: TrialSpec) -> bool:
    """Whether the number of ranks may change while the run trains."""
    return 0 < spec.slots.min < spec.slots.max and spec.distributed == "horovod"


def write_trial_file(
    paths: RunPaths, allocation: DesiredAllocation, run: LocalRun, machine: Machine, latest: Latest | None
) -> None:
    """Write the trial file, which ranks read without the daemon."""
    spec = spec_of(allocation)
    description = wire.TrialFile(
        socket=str(machine.socket),
        size=run.gang.assignment.size,
        hparams=dict(spec.hyperparameters),
        seed=spec.seed,
        checkpoints=str(paths.checkpoints),
        latest_checkpoint=str(latest.folder) if latest else None,
        time_metric=spec.time_metric,
        data=dict(spec.data),
        distributed=spec.distributed,
        optimizations=dict(spec.optimizations),
        worker=machine.worker,
        disk=str(machine.disk),
        watch=str(paths.watch),
        metric=spec.metric,
        on_nan=spec.on_nan,
        smaller_is_better=spec.smaller_is_better,
        checkpoint_policy=spec.checkpoint_policy,
        checkpoint_period=spec.checkpoint_period,
        checkpoint_period_unit=spec.checkpoint_period_unit,
        best=latest.best if latest else None,
        profiling=dict(spec.profiling),
        media=str(paths.spool),
        tensorboard=str(paths.tensorboard),
        takes_pixels=True,
    )
    paths.trial_file.write_text(wire.trial_file_text(description))
