"""Replies as long as one may be: what does not fit is left out from the end."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import chain

import orjson
from pydantic import JsonValue

from services.searcher.core.search.warm import Warmth
from shared.messages.plans import KnownAtStart, KnownTrial

PAGE_BYTES = 400 * 1024
_FRAME_BYTES = 200


def fitting(parts: Iterable[Mapping[str, JsonValue]]) -> int:
    """Return how many of these fit into one reply, the first in any case."""
    size = count = 0
    for part in parts:
        size += len(orjson.dumps(part)) + _FRAME_BYTES
        if count and size > PAGE_BYTES:
            break
        count += 1
    return count


def known_at_start(warmth: Warmth, notes: tuple[str, ...]) -> KnownAtStart:
    """Return what a search knows at its start, the points first, then the trials that came furthest; a note says how many are left out."""
    trials = [asdict(trial) for trial in warmth.known]
    whole = len(warmth.points) + len(trials)
    count = fitting(chain(warmth.points, trials))
    if count < whole:
        notes = (*notes, f"{whole - count} of {whole} points and trials of earlier experiments are left out")
    return KnownAtStart(
        points=warmth.points[:count],
        known=tuple(KnownTrial(**trial) for trial in trials[: max(0, count - len(warmth.points))]),
        notes=notes,
    )
