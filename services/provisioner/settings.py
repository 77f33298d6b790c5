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
    """The pool of the settings and the driver that launches its machines.

    Attributes:
        directory: Where each worker of this machine gets its own directory.
        gateway_url: Where workers join.
        pool: Name of the pool of this machine.
        minimum: Workers that run without demand.
        maximum: Most workers; by default as many as the machine's slots allow.
        slots_per_worker: By default one core, or all GPUs.
        slot_kind: `auto` uses GPUs if there are any, otherwise cores.
        idle_timeout_s: A worker above the minimum is removed after this time without work.
        join_timeout_s: A worker that has not joined after this time is given up.
        labels: Labels of its workers, comma-separated: `rack=r7,zone=a`.
        address: The address at which other machines reach its workers.
        price_per_hour: Price of one worker, for the cost ledger, `muster plan`, and searches that widen only while
            slots are cheap; 0: unknown.
        worker_command: Command that starts a worker.
        providers: File that configures clouds and clusters; without it there is only this machine.
        catalogue: File with machine kinds and their prices, for user-defined pools.
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
    """Settings of the provisioner process."""

    postgres: PostgresSettings
    provisioner: ProvisionerSection


def inherited_environment() -> dict[str, str]:
    """Return the environment of this process, of which workers inherit only a few variables."""
    return dict(os.environ)
