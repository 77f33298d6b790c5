"""Why a run is asked to release its slots. Stored with the run, because users can ask for the reason after it
has ended."""

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
    "time_slice",
    "defragment",
    "reservation",
    "budget",
]
"""Why a run is asked to release its slots:

- `priority`: for a request of higher priority
- `tenant_guarantee`, `workspace_guarantee`: for a request that a guarantee covers
- `resize`: to resume with a different number of slots
- `drain`: its worker is drained
- `leaving`: the provider reclaims its worker's machine
- `move`: its experiment was moved to another pool
- `turn`: its time slice is over and a peer waits
- `defragment`: to resume elsewhere, so that enough free slots come together
- `reservation`: the slots are reserved for others
- `budget`: the budget for the month is spent
"""


@dataclass(frozen=True, slots=True)
class PreemptionNotice:
    """Why a run was asked for its slots, for which waiting trial (None: for none), and with how many slots its
    own trial is to resume (None: with what it gets)."""

    because: PreemptionCause
    trial: TrialId | None = None
    slots: int | None = None
