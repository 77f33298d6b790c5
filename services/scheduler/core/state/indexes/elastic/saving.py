"""What is known of an elastic trial as plain values, to be kept with its row, and back."""

from dataclasses import asdict
from typing import Any

from services.scheduler.core.state.indexes.elastic.goodput import Limits, Noise
from services.scheduler.core.state.indexes.elastic.history import History
from services.scheduler.core.state.indexes.elastic.paces import Paces
from services.scheduler.core.state.indexes.elastic.records import Record
from services.scheduler.core.state.indexes.elastic.throughput import Timing

Kept = dict[str, Any]
"""Of JSON alone; its keys are this module's own."""


def keep(record: Record) -> Kept:
    """All that a record has."""
    kept: Kept = {name: getattr(record, name) for name in ("slots", "service_ms", "counted_ms", "starts")}
    match record.history:
        case Paces():
            kept["step_s"] = list(record.history.known)
        case History():
            noise = record.history.noise
            kept["limits"] = asdict(record.history.limits)
            kept["timings"] = [asdict(timing) for timing in record.history.timings]
            kept["noise"] = asdict(noise) if noise else None
    return kept


def record_of(kept: Kept) -> Record:
    """The record that was kept: it plans as the one that was kept from."""
    return Record(
        history=_history_of(kept),
        **{name: int(kept[name]) for name in ("slots", "service_ms", "counted_ms", "starts")},
    )


def _history_of(kept: Kept) -> History | Paces | None:
    if "step_s" in kept:
        paces = Paces()
        for slots, step_s in kept["step_s"]:
            paces.add(int(slots), float(step_s))
        return paces
    if "limits" not in kept:
        return None
    history = History(Limits(**kept["limits"]))
    if kept["noise"] is not None:
        for timing in kept["timings"]:
            history.add(Timing(**timing), Noise(**kept["noise"]))
    return history
