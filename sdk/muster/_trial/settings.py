"""What the environment says about this process; read when `muster.trial()` is called, not before."""

import os
from dataclasses import dataclass

from muster import wire
from muster._trial import alone


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where this process runs: under a worker (`trial_path`), under horovodrun (`size` > 1), or by hand. `slot_part`: how much of
    its slot is its own."""

    trial_path: str
    token: str
    rank: int
    local_rank: int
    size: int
    slot_part: float
    latest_checkpoint: str | None
    variables: dict[str, str]


def load_surroundings() -> Surroundings:
    """Read the environment once."""
    variables = dict(os.environ)
    return Surroundings(
        trial_path=variables.get(wire.ENV_TRIAL, ""),
        token=variables.get(wire.ENV_TOKEN, ""),
        rank=int(variables.get(wire.ENV_RANK, variables.get("HOROVOD_RANK", "0"))),
        local_rank=int(variables.get(wire.ENV_LOCAL_RANK, variables.get("HOROVOD_LOCAL_RANK", "0"))),
        size=int(variables.get("HOROVOD_SIZE", "1")),
        slot_part=float(variables.get(wire.ENV_SLOT_PART, "1")),
        latest_checkpoint=variables.get(alone.ENV_LATEST) or None,
        variables=variables,
    )
