"""The provisioner's settings: `MUSTER_PROVISIONER__…`."""

import os
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from muster.config.labels import read_labels
from shared.settings import PostgresSettings, Section, ServiceSettings

WORKER_COMMAND = (sys.executable, "-P", "-m", "worker")


class ProvisionerSection(Section):
    """One pool and the driver that brings its machines.

    Attributes:
        directory: Where each worker of this machine gets a folder of its own.
        gateway_url: Where workers join.
        minimum: Workers that stand without demand.
        maximum: Workers at most; by default as many as the machine's slots fill.
        slots_per_worker: By default one core, or all GPUs.
        slot_kind: `auto` takes GPUs where they are, else cores.
        idle_timeout_s: After this time without work, a worker above the minimum goes.
        join_timeout_s: A worker that has not joined after this time is given up.
        labels: What its workers are labelled with, by commas: `rack=r7,zone=a`.
        price_per_hour: Of one worker: for the cost ledger, for `muster plan`, and for searches that widen only where slots are cheap; 0 says
            nothing.
        worker_command: What is started as a worker.
        providers: The file that says how clouds and clusters are reached; without it there is this machine alone.
        catalogue: The file with kinds of machines and their prices, of which people define further pools.
    """

    directory: Path
    gateway_url: str
    pool: str = "default"
    minimum: int = Field(1, ge=0, le=10_000)
    maximum: int | None = Field(None, ge=0, le=10_000)
    slots_per_worker: int | None = Field(None, ge=1, le=4096)
    slot_kind: Literal["auto", "cuda", "rocm", "cpu"] = "auto"
    idle_timeout_s: float = Field(120.0, gt=0)
    join_timeout_s: float = Field(300.0, gt=0)
    labels: str = ""
    price_per_hour: float = Field(0.0, ge=0)
    address: str = "127.0.0.1"
    worker_command: tuple[str, ...] = WORKER_COMMAND
    providers: Path | None = None
    catalogue: Path | None = None

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, text: str) -> str:
        read_labels(text)
        return text


class Settings(ServiceSettings):
    """Everything that the process reads from its environment."""

    postgres: PostgresSettings
    provisioner: ProvisionerSection


def inherited_environment() -> dict[str, str]:
    """What this process was started with; only a few names of it reach a worker."""
    return dict(os.environ)
