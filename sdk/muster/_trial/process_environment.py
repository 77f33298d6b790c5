"""Environment of this process; read when `muster.trial()` is called."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from muster import wire


@dataclass(frozen=True, slots=True)
class Launched:
    """Rank and size as set by `torchrun` and compatible launchers."""

    rank: int
    size: int
    local_rank: int
    local_size: int


@dataclass(frozen=True, slots=True)
class ProcessEnvironment:
    """Environment of this process: under a worker (`trial_path`), horovodrun (`size` > 1), torchrun (`launched`), or standalone.

    Attributes:
        slot_fraction: Share of a slot, 1 for whole slots.
        generation: Generation of the elastic gang for which the process was started; 0 if the size is fixed.
        size_to_join: Size of the running gang that the process will join; 0 if it joins none.
    """

    trial_path: str
    token: str
    rank: int
    local_rank: int
    size: int
    launched: Launched | None
    slot_fraction: float
    generation: int
    size_to_join: int
    variables: dict[str, str]

    @property
    def is_started_by_worker(self) -> bool:
        """Whether the worker started this process; it does not track further processes of a launcher."""
        return self.launched is None or self.launched.local_rank == self.local_rank


def load_process_environment() -> ProcessEnvironment:
    """Read the environment variables."""
    variables = dict(os.environ)
    return ProcessEnvironment(
        trial_path=variables.get(wire.ENV_TRIAL, ""),
        token=variables.get(wire.ENV_TOKEN, ""),
        rank=int(variables.get(wire.ENV_RANK, variables.get("HOROVOD_RANK", "0"))),
        local_rank=int(variables.get(wire.ENV_LOCAL_RANK, variables.get("HOROVOD_LOCAL_RANK", "0"))),
        size=int(variables.get("HOROVOD_SIZE", "1")),
        launched=_find_launched(variables),
        slot_fraction=float(variables.get(wire.ENV_SLOT_SHARE, "1")),
        generation=int(variables.get(wire.ENV_GENERATION, "0")),
        size_to_join=int(variables.get(wire.ENV_STANDBY, "0")),
        variables=variables,
    )


def apply_variables(variables: Mapping[str, str]) -> None:
    """Set the environment variables that Horovod reads when it starts."""
    os.environ.update(variables)


def _find_launched(variables: Mapping[str, str]) -> Launched | None:
    if "RANK" not in variables or "WORLD_SIZE" not in variables:
        return None
    rank, size = int(variables["RANK"]), int(variables["WORLD_SIZE"])
    local_rank, local_size = variables.get("LOCAL_RANK", rank), variables.get("LOCAL_WORLD_SIZE", size)
    return Launched(rank, size, int(local_rank), int(local_size))
