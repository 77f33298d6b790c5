"""A journal entry: what happened, and what was decided."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

Facts = dict[str, JsonValue]

Kind = Literal[
    "warm_started", "started", "judged", "parked", "ended", "observed", "widened", "edited", "granted", "released", "limit_reached",
    "price_changed", "operations_applied", "paused", "resumed", "stopping", "finished", "checkpoint_stored",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a journal. Positions count from 1 without gaps."""

    position: int
    kind: Kind
    facts: Facts
