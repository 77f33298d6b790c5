"""The container of a run: what its spec requests and this machine grants. Neighbour: `executors/container` builds the commands."""

import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path

from muster.errors import Rejected
from shared.container_rules import ContainerSettings, check_container
from shared.ids import RunId
from shared.messages.trial_specs import ContainerSpec
from worker.environments.images import ImageRequest
from worker.executors.container import (
    SDK,
    Container,
    ContainerLimits,
    Engine,
    Mount,
    container_name,
)
from worker.machine.cgroups import Bounds, Cgroups
from worker.machine.host import Machine
from worker.paths import RunPaths, WorkerPaths
from worker.ranks.launch.start_frames import OPEN_FILES
from worker.ranks.launch.trial_file import is_elastic, spec_of
from worker.sandbox.accounts import Account
from worker.store.records import StoredImage, StoredRun

MAX_PROCESSES = 4096
"""Default limit of processes and threads of a container, per slot."""
NOBODY = Account(65_534, 65_534)
"""The user of containers if a worker that runs as root has no other user for trials."""
_CDI_KINDS = {"cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu"}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Containers:
    """Makes the containers of this machine's runs. `engine` None: there is none."""

    engine: Engine | None
    rules: ContainerSettings
    bounds: Bounds
    paths: WorkerPaths

    def request(self, stored: StoredRun, machine: Machine) -> ImageRequest:
        """Return the request for a run's image.

        Raises:
            Rejected: The site does not allow what the run requests for its container.
        """
        spec, container = spec_of(stored.allocation), _container_of(stored)
        check_container(container, self.rules)
        if self.engine is not None and not self.engine.is_podman and machine.network_of(stored.run.run_id):
            raise Rejected(
                "no_container_network",
                "this worker cannot run containers: Docker cannot use the private networks of runs",
                hint="use podman, or set MUSTER_WORKER__NETWORK=host in a pool of one trusted tenant",
            )
        trains_together = stored.run.gang.assignment.size > 1 or is_elastic(spec)
        return ImageRequest(
            name=container.images[machine.kind],
            tenant=stored.allocation.tenant,
            auth=container.registry_auth,
            is_forced=container.force_pull,
            needs_horovod=spec.distributed == "horovod" and trains_together,
        )

    def machine(self, machine: Machine, image: StoredImage) -> Machine:
        """Return the machine as the processes in a container see it."""
        path = os.pathsep.join(filter(None, (SDK, image.variables.get("PYTHONPATH", ""))))
        return replace(
            machine,
            path=image.variables.get("PATH", _DEFAULT_PATH),
            cgroups=Cgroups(machine.worker, Bounds()),
            libraries=image.variables | {"PYTHONPATH": path},
            is_container=True,
        )

    def container(
        self, stored: StoredRun, image: StoredImage, paths: RunPaths, machine: Machine
    ) -> Container:
        """Return a run's container. `machine`: as the run sees it."""
        assert self.engine is not None
        run, spec = stored.run, _container_of(stored)
        user, slots = _user(self.engine, machine.account), _slots(stored)
        bounds = self.bounds.of(slots)
        return Container(
            engine=self.engine,
            name=container_name(machine.worker, self.paths.root, run.run_id),
            image=image.id,
            folder=paths.parent,
            launches=paths.launches,
            log=paths.parent_log,
            user=user,
            mounts=(*_mounts(paths, spec), *(_horovod() if image.mounts_horovod else ())),
            limits=ContainerLimits(
                processes=bounds.get("pids", MAX_PROCESSES * max(1, slots)),
                open_files=OPEN_FILES,
                memory_bytes=bounds.get("memory"),
                file_bytes=machine.run_bytes,
                shm_bytes=spec.shm_bytes,
            ),
            python_path=image.variables.get("PYTHONPATH", ""),
            network=_network(run.run_id, machine),
            labels={"muster.worker": machine.worker, "muster.run": str(run.run_id)},
            devices=(*_gpus(stored, machine), *_devices(spec)),
            add_capabilities=tuple(
                name for name in spec.add_capabilities if name not in spec.drop_capabilities
            ),
        )


def _user(engine: Engine, account: Account | None) -> tuple[int, int] | None:
    """Return uid and gid of a container's processes. None: podman without root maps the worker's user itself."""
    if os.geteuid() != 0 and engine.is_podman:
        return None
    return (account.user, account.group) if account else (os.geteuid(), os.getegid())


def _network(run: RunId, machine: Machine) -> str:
    """Return the run's network namespace, or the machine's network if runs have no networks of their own."""
    path = machine.network_of(run)
    return f"ns:{path}" if path else "host"


def account_without_sandboxes(stored: StoredRun) -> Account | None:
    """Return the user of a run on a worker that has no user for trials: in a container it is never root."""
    return NOBODY if spec_of(stored.allocation).container and os.geteuid() == 0 else None


def make_folders(paths: RunPaths, account: Account | None, resolver: str) -> None:
    """Create what only a run in a container has, and give its folders to its user. `resolver`: the text of its resolv.conf, if not the machine's."""
    for folder in (paths.parent, paths.launches, paths.temporary):
        folder.mkdir(mode=0o700, exist_ok=True)
        if account is not None:
            os.chown(folder, account.user, account.group)
    paths.trial_file.chmod(0o644)
    if resolver:
        paths.resolver.write_text(resolver)
        paths.resolver.chmod(0o644)


def _container_of(stored: StoredRun) -> ContainerSpec:
    container = spec_of(stored.allocation).container
    assert container is not None
    return container


def _slots(stored: StoredRun) -> int:
    """Return the slots that a container is limited by: an elastic run may grow to its maximum."""
    spec = spec_of(stored.allocation)
    mine = stored.allocation.members[stored.run.gang.next_assignment.index].slots
    return spec.slots.max if is_elastic(spec) else mine


def _mounts(paths: RunPaths, spec: ContainerSpec) -> tuple[Mount, ...]:
    """Return the run's folders, at the same paths as outside, and what its config mounts."""
    writable = (*paths.folders_of_trial, paths.parent, paths.launches, paths.unsent)
    read_only = (paths.trial_file, paths.latest, paths.link)
    return (
        *(Mount(path, str(path), read_only=False) for path in writable),
        *(Mount(path, str(path)) for path in read_only),
        *([Mount(paths.resolver, "/etc/resolv.conf")] if paths.resolver.exists() else []),
        Mount(paths.temporary, "/tmp", read_only=False),  # noqa: S108 - the run's own
        *(Mount(Path(one.host_path), one.container_path, one.read_only) for one in spec.bind_mounts),
    )


def _gpus(stored: StoredRun, machine: Machine) -> tuple[str, ...]:
    """Return the CDI names of the run's GPUs on this machine."""
    member = stored.allocation.members[stored.run.gang.next_assignment.index]
    kind = _CDI_KINDS.get(machine.kind)
    return tuple(f"{kind}={number}" for number in member.slot_ids) if kind else ()


def _devices(spec: ContainerSpec) -> tuple[str, ...]:
    return tuple(f"{one.host_path}:{one.container_path}:{one.mode}" for one in spec.devices)


def _horovod() -> tuple[Mount, ...]:
    """Return the mount of the worker's Horovod."""
    found = importlib.util.find_spec("horovod")
    folders = found.submodule_search_locations if found else None
    return (Mount(Path(folders[0]), f"{SDK}/horovod"),) if folders else ()
