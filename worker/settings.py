"""Settings of the worker: `MUSTER_WORKER__…`."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from muster.config.labels import read_labels
from shared.settings import NatsSettings, Section, ServiceSettings

WARM_MODULES = "numpy.random,torch,torch._dynamo,horovod.torch,horovod.runner.http.http_server,horovod.runner.common.util.hosts,muster._trial"
"""What every trial needs, torch's first optimizer included: it imports `torch._dynamo` (decision 0223). What is not installed is left out."""


class WorkerSection(Section):
    """This machine's part.

    Attributes:
        id: The worker's name; letters, digits, `-` and `_`.
        directory: Its own, kept over restarts: identity, journals, caches, runs.
        address: Where the other machines of its pool reach this one.
        labels: What experiments may ask for, by commas: `rack=r7,zone=a`.
        slots: How many slots; default are the GPUs, else the cores.
        gateway_url: Where to join; needed with `join_token` at the first start only.
        warm: Modules that the warm parent imports, by commas.
        warm_also: More of them: what the experiments of this place import. Each second of it is one less for every trial.
        user: An unprivileged user to run trials as; only where the worker is root.
        orphan_after_s: Silence of the scheduler after which running ranks are ended.
        unheard_after_s: Of a rented machine: after so long without the scheduler and without a run the worker ends by itself, with exit code 0, and
            what started it ends the machine; eight times as long while reports or checkpoints are unsent. Not set: it waits for ever.
        cache_bytes: The most that code and files of checkpoints take that are kept so as not to fetch them again; what was not used for longest goes first.
        min_free_bytes: No run is begun while the disk of `directory` has less room.
        cloud: Whose machine it is, where that cloud may take it back and says so before: its metadata service is asked every two seconds.
        metadata_url: Where that service is, if not at its usual address.
        slot_memory_bytes: Memory that a run may take for each of its slots here, by control groups; not set bounds nothing.
        slot_processes: Processes and threads, likewise.
        niceness: How far runs give way to what else this machine computes, 0 to 19: 5 leaves a service that shares it three quarters of a core that
            both want, 10 nine tenths. 0: the machine is theirs, and threads of theirs that exchange gradients keep to their cores.
        run_bytes: The most that one run may hold there: code, output, checkpoints on their way, what it writes; not set bounds nothing.
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
    user: str | None = None
    orphan_after_s: float = Field(1800.0, gt=0)
    unheard_after_s: float | None = Field(None, gt=0)
    cache_bytes: int = Field(20 * 1024**3, ge=0)
    min_free_bytes: int = Field(64 * 1024**2, ge=0)
    run_bytes: int | None = Field(None, ge=1024**2)
    slot_memory_bytes: int | None = Field(None, ge=64 * 1024**2)
    slot_processes: int | None = Field(None, ge=16)
    niceness: int = Field(0, ge=0, le=19)
    cloud: Literal["aws", "gcp"] | None = None
    metadata_url: str | None = None

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, text: str) -> str:
        read_labels(text)
        return text

    @property
    def own_labels(self) -> dict[str, str]:
        """What this machine is labelled with."""
        return read_labels(self.labels)

    @property
    def warm_modules(self) -> str:
        """All modules that the warm parent imports, by commas."""
        return ",".join(filter(None, (self.warm, self.warm_also)))


class Settings(ServiceSettings):
    """All of the worker's settings. Without `nats.url` it takes the address it was told when it joined."""

    worker: WorkerSection

    def nats_url(self, advertised_url: str) -> str:
        """The address set by hand, else the one told at joining."""
        return self.nats.url if self.nats.url != NatsSettings().url or not advertised_url else advertised_url


def inherited_environment() -> dict[str, str]:
    """What this process was started with; only a few names of it reach a rank."""
    return dict(os.environ)
