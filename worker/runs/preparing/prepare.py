"""Prepares a run on this machine: disk space, code, Python environment, checkpoint, trial file."""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace

from muster import wire
from muster.errors import Rejected, Transient
from shared.runtime.outages import Outages
from worker.core.faults import CausedByTrial
from worker.environments.environments import EnvironmentRequest
from worker.ranks.launch.trial_file import spec_of, write_trial_file
from worker.runs.containers import make_folders
from worker.runs.context import RunContext
from worker.runs.preparing.images import get_image
from worker.runs.watching.hangs import make_heartbeat_file
from worker.runs.watching.profiling import make_timing_file
from worker.sandbox.trial_files import TrialFile, write_private_file

MAX_RETRY_S = 5.0
DISK_RETRY_S = 1.0
Enter = Callable[[RunContext, str], None]
NEEDS_IMAGE = "containers only"
"""The name under which the scheduler excludes a worker that runs containers only for a trial without an image."""
_FETCHING = "fetching a run's files"
_OF_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENFILE})
"""Errors that a trial's processes cannot cause in its folders."""


class NeedsImage(Rejected):
    """The worker runs containers only, and the run has no image."""


async def prepare(context: RunContext, enter: Enter) -> None:
    """Fetch and write everything. Retry an unreachable registry or store while the run is wanted.

    Wait for a full disk too: another attempt would find the same disk, and ten attempts without progress end a trial.

    Raises:
        CausedByTrial: The config, the code or what the startup hook has done is at fault: the run is charged to its user.
        NeedsImage: The run has no image, and this worker runs containers only.
        Rejected: The code cannot be used, or the registry refuses it.
        OSError: The disk is broken.
    """
    retry_s = 0.1
    outages = Outages(run=str(context.run.run_id))
    while not context.run.is_over:
        try:
            with context.phases.during("prepare"):
                await _fetch(context, enter)
            outages.worked(_FETCHING)
            return
        except Transient as error:
            outages.failed(_FETCHING, error)
            await asyncio.sleep(max(retry_s, min(error.retry_after_s, 1.0)))
            retry_s = min(retry_s * 2, MAX_RETRY_S)
        except OSError as error:
            if not wire.is_disk_full(error):
                raise
            message = context.tools.machine.describe_disk_error(error)
            outages.failed(_FETCHING, message)
            context.tail.warn_rate_limited(f"{message}; the run starts when space is free")
            await asyncio.sleep(DISK_RETRY_S)


async def _fetch(context: RunContext, enter: Enter) -> None:
    allocation, tools, paths = context.stored.allocation, context.tools, context.paths
    spec = spec_of(allocation)
    run_id = context.run.run_id
    sandboxing = tools.machine.sandboxing
    if spec.container is None and sandboxing is not None and sandboxing.only_containers:
        raise NeedsImage(
            "image_needed",
            f"worker {tools.worker} runs containers only, and the experiment names no image",
            place="environment.image",
            hint="set environment.image, or choose another pool",
        )
    if not tools.machine.has_free_space(tools.min_free_bytes):
        raise wire.disk_full(tools.worker, tools.machine.disk)
    await context.secrets.load()
    # Processes of an earlier daemon's preparation may still run, and exchange what is written by path for links.
    is_handed_over = paths.is_handed_over(context.account.user if context.account else None)
    if spec.code_hash is not None and not is_handed_over:
        with context.phases.during("fetch_code"):
            await tools.code.copy(run_id, allocation.tenant, spec.code_hash, paths.code)
    if spec.requirements is not None:
        environment = EnvironmentRequest(paths.code, spec.requirements, allocation.tenant, spec.code_hash)
        with context.phases.during("make_environment"):
            enter(context, await tools.environments.make(environment, context.tail.log))
    if spec.container is not None:
        context.stored = replace(context.stored, image=await get_image(context))
    if not is_handed_over:
        await _write_files(context)
    if context.machine.is_container:
        networks = tools.machine.networks
        make_folders(paths, context.account, networks.access(run_id).resolver if networks else "")
    for path, value in context.secrets.files.items():
        try:
            write_private_file(TrialFile(paths.home, path), value.encode(), context.account)
        except OSError as error:
            if is_handed_over and error.errno not in _OF_DISK:
                raise CausedByTrial(
                    "home_changed",
                    f"a secret cannot be written to {path} in the home folder, which the startup hook has changed: {error.strerror}",
                ) from error
            raise
    paths.handed_over.touch()


async def _write_files(context: RunContext) -> None:
    """Restore the checkpoint, write what the ranks read, and give the folders to the run's user."""
    allocation, tools, paths = context.stored.allocation, context.tools, context.paths
    latest = None
    if allocation.run_number > 1 or spec_of(allocation).start_checkpoint is not None:
        with context.phases.during("restore_checkpoint"):
            latest = await tools.checkpoints.restore(
                context.run.run_id,
                allocation.tenant,
                paths.latest,
                is_gang=context.run.gang.assignment.members > 1,
                log=lambda text: context.tail.log(text, "warning"),
            )
    write_trial_file(paths, allocation, context.run, context.machine, latest)
    context.tail.make_files(context.account)
    make_heartbeat_file(paths.watch, context.run.gang.assignment.ranks)
    if context.profile:
        make_timing_file(paths.watch, context.run.gang.assignment.ranks)
    if context.account is not None:
        context.account.own(paths)
