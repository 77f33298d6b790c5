"""Why a run is asked to give its slots back. Kept with the run: its people are told, also when it has long ended."""

from dataclasses import dataclass
from typing import Literal

from shared.ids import TrialId

PreemptionCause = Literal[
    "priority",
    "tenant_guarantee",
    "workspace_guarantee",
    "resize",
    "drain",
    "leaving",
    "move",
    "turn",
    "defragment",
    "reservation",
    "budget",
]
"""Why a run is asked for its slots: for a more important request; for one that a guarantee covers; to go on with other slots;
since its worker is to be empty; since its worker's provider takes the machine back; since its experiment goes to another pool; since its turn is over and an equal waits;
to go on elsewhere, so that free slots come together; since others have booked; since its budget for the month is spent."""


@dataclass(frozen=True, slots=True)
class PreemptionNotice:
    """Why a run was asked for its slots, on which waiting trial's behalf (None: on nobody's), and with how many slots its own trial
    is to go on (None: with what it gets)."""

    because: PreemptionCause
    trial: TrialId | None = None
    slots: int | None = None
