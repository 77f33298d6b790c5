"""A journal entry: what happened, and what was decided."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

Facts = dict[str, JsonValue]

Kind = Literal[
    "warmed", "started", "judged", "parked", "ended", "observed", "widened", "edited", "granted", "released",
    "limited", "priced", "told", "paused", "resumed", "stopping", "finished", "stored",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a journal. Positions count from 1 without gaps."""

    position: int
    kind: Kind
    facts: Facts
