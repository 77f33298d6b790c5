"""Settings of the worker: `MUSTER_WORKER__…`."""

import os
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from muster.config.labels import read_labels
from shared.container_rules import ContainerSettings
from shared.settings import NatsSettings, Section, ServiceSettings
from worker.core.destinations import PUBLIC, read_allowed

WARM_MODULES = "numpy.random,torch,torch._dynamo,horovod.torch,horovod.runner.http.http_server,horovod.runner.common.util.hosts,muster._trial"
"""Modules that every trial needs, including torch's first optimizer, which imports `torch._dynamo` (decision 0223). Missing modules are skipped."""

UID_RANGE = "400000-465535"


class WorkerSection(Section):
    """The worker's settings.

    Attributes:
        id: The worker's name; letters, digits, `-` and `_`.
        directory: The data directory, kept over restarts: identity, journals, caches, runs.
        pool: The pool that the worker joins.
        address: The address at which other machines of the pool reach this one.
        labels: Labels that experiments can select, comma-separated: `rack=r7,zone=a`.
        slots: Number of slots. Default: the GPUs, else the cores.
        kind: Kind of the slots. Default: `cuda` if there are GPUs, else `cpu`.
        gateway_url: The gateway to join; needed with `join_token` at the first start only.
        join_token: The one-time token from `muster worker token`.
        warm: Modules that the warm parent imports, comma-separated.
        warm_also: Additional modules, which this site's experiments import. Trials then start faster by their import time.
        machine: Identifies the host: equal for all workers on it, different on every other host. Exclusive pools serve one tenant at a time
            on a host. Default: derived from the kernel's boot id, which containers share with their host.
        sandbox: `auto`: each run gets a sandbox, if the worker can make one, which it tries at its start; `container`: each run gets a container, and runs without
            an image are refused; `none`: runs are separated from each other and from the machine by nothing but `user`, and the pool must be trusted.
        uid_range: User ids for runs in sandboxes, `FIRST-LAST`: each run has one of its own.
        readable: Folders of this machine that runs in sandboxes may read, comma-separated, such as shared data sets.
        shm_bytes: Maximum size of a run's /dev/shm in its sandbox.
        user: An unprivileged user to run trials as, without a sandbox. Requires a worker that runs as root.
        orphan_after_s: Ranks are killed after this time without contact to the scheduler.
        contact_timeout_s: For rented machines: the worker exits with code 0 after this time without the scheduler and without runs, so that
            the machine can be ended; eight times as long while reports or checkpoints are unsent. Not set: never.
        cache_bytes: Maximum size of the cache of code and checkpoint files; least recently used entries are evicted first.
        min_free_bytes: New runs wait while the disk of `directory` has less free space.
        cloud: The cloud of the machine, if it announces reclaims: the worker polls its metadata service every two seconds.
        metadata_url: The address of the metadata service, if not the usual one.
        slot_memory_bytes: Memory limit of a run per slot, enforced by control groups, else for each process. Not set: with sandboxes a
            slot's share of nine tenths of the memory, otherwise no limit.
        slot_processes: Limit of processes and threads of a run per slot. Not set: with sandboxes 4096, otherwise no limit.
        niceness: CPU niceness of runs, 0 to 19: at 5, another busy process on the same core gets three quarters of it, at 10
            nine tenths. 0: the machine is dedicated to runs, and their communication threads are pinned to cores.
        container_engine: Command of the container engine, with its global options: `podman`, or `docker` with access to its socket. Not set:
            podman if it is installed, else this worker refuses runs with an image.
        images_bytes: Maximum size of the images that this worker pulled, each with all of its layers. Beyond it, the least recently used ones are
            removed; never an image of a run that is here, and never one that the site put on the machine. Not set: half of the disk of
            the engine's images.
        run_bytes: Maximum disk space of one run: code, output, checkpoints before their upload, files it writes. Not set: with sandboxes
            half of the disk of `directory`, otherwise no limit.
        network: `private`: the sandbox of each run has a network of its own, behind rules (needs iproute2 and nftables); `host`: runs use
            the machine's network; `auto`: private where it is possible. Use the same value on all workers of a pool.
        network_allow: Destinations that private networks reach, comma-separated: `public`, or IPv4 networks with or without ports, such as
            `10.1.0.0/16` or `10.2.0.7:443`. The machine itself, other runs and metadata services are always denied.
        network_subnet: The addresses of private networks on this machine, which nothing outside it sees.
        network_resolvers: Name servers of runs, comma-separated IPv4 addresses. Default: those of the machine.
        network_gang_port: The UDP port by which gangs over several machines connect (VXLAN).
    """

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,63}$")
    directory: Path
    pool: str = "default"
    address: str = "127.0.0.1"
    labels: str = ""
    slots: int | None = Field(None, ge=0, le=4096)
    kind: Literal["cuda", "rocm", "cpu"] | None = None
    gateway_url: str | None = None
    join_token: SecretStr | None = None
    warm: str = WARM_MODULES
    warm_also: str = ""
    machine: str | None = Field(None, pattern=r"^[A-Za-z0-9._-]{1,63}$")
    sandbox: Literal["auto", "container", "none"] = "auto"
    uid_range: str = UID_RANGE
    readable: str = ""
    shm_bytes: int | None = Field(None, ge=64 * 1024**2)
    user: str | None = None
    orphan_after_s: float = Field(1800.0, gt=0)
    contact_timeout_s: float | None = Field(None, gt=0)
    cache_bytes: int = Field(20 * 1024**3, ge=0)
    min_free_bytes: int = Field(64 * 1024**2, ge=0)
    run_bytes: int | None = Field(None, ge=1024**2)
    slot_memory_bytes: int | None = Field(None, ge=64 * 1024**2)
    slot_processes: int | None = Field(None, ge=16)
    niceness: int = Field(0, ge=0, le=19)
    container_engine: str | None = None
    images_bytes: int | None = Field(None, ge=0)
    network: Literal["auto", "private", "host"] = "auto"
    network_allow: str = PUBLIC
    network_subnet: IPv4Network = IPv4Network("100.127.0.0/16")
    network_resolvers: str = ""
    network_gang_port: int = Field(8473, ge=1, le=65_535)
    cloud: Literal["aws", "gcp"] | None = None
    metadata_url: str | None = None

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, text: str) -> str:
        read_labels(text)
        return text

    @field_validator("network_allow")
    @classmethod
    def _are_destinations(cls, text: str) -> str:
        read_allowed(text)
        return text

    @field_validator("network_resolvers")
    @classmethod
    def _are_addresses(cls, text: str) -> str:
        for address in filter(None, text.split(",")):
            IPv4Address(address.strip())
        return text

    @field_validator("network_subnet")
    @classmethod
    def _has_addresses(cls, subnet: IPv4Network) -> IPv4Network:
        if subnet.num_addresses < 1 << 8:
            raise ValueError(f"{subnet} is too small for the networks of runs: use a prefix of at most /24")
        return subnet

    @property
    def own_labels(self) -> dict[str, str]:
        """The labels of this machine."""
        return read_labels(self.labels)

    @property
    def readable_folders(self) -> tuple[str, ...]:
        """The folders of `readable`."""
        return tuple(filter(None, (folder.strip() for folder in self.readable.split(","))))

    @property
    def warm_modules(self) -> str:
        """All modules that the warm parent imports, comma-separated."""
        return ",".join(filter(None, (self.warm, self.warm_also)))


class Settings(ServiceSettings):
    """All settings of the worker process. Without `nats.url` it uses the address it got when it joined."""

    worker: WorkerSection
    containers: ContainerSettings = ContainerSettings()

    def nats_url(self, advertised_url: str) -> str:
        """Return the configured address, else the one that the platform advertised at the join."""
        return self.nats.url if self.nats.url != NatsSettings().url or not advertised_url else advertised_url


def inherited_environment() -> dict[str, str]:
    """Return this process's environment; ranks inherit only a few of its variables."""
    return dict(os.environ)
