"""Elastic records as JSON values, stored in the trial's row, and back."""

from dataclasses import asdict
from typing import Any

from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.indexes.elastic.history import ReportHistory
from services.scheduler.core.state.indexes.elastic.records import ElasticRecord
from services.scheduler.core.state.indexes.elastic.step_times import StepTimes
from services.scheduler.core.state.indexes.elastic.throughput import Timing

Kept = dict[str, Any]
"""JSON values; this module defines the keys."""


def to_json(record: ElasticRecord) -> Kept:
    """Return the record as JSON values."""
    kept: Kept = {name: getattr(record, name) for name in ("slots", "service_ms", "counted_ms", "starts")}
    match record.history:
        case StepTimes():
            kept["step_s"] = list(record.history.known)
        case ReportHistory():
            noise = record.history.noise
            kept["limits"] = asdict(record.history.limits)
            kept["timings"] = [asdict(timing) for timing in record.history.timings]
            kept["noise"] = asdict(noise) if noise else None
    return kept


def from_json(kept: Kept) -> ElasticRecord:
    """Restore a record. It leads to the same plans as the original."""
    return ElasticRecord(
        history=_history_of(kept),
        **{name: int(kept[name]) for name in ("slots", "service_ms", "counted_ms", "starts")},
    )


def _history_of(kept: Kept) -> ReportHistory | StepTimes | None:
    if "step_s" in kept:
        paces = StepTimes()
        for slots, step_s in kept["step_s"]:
            paces.add(int(slots), float(step_s))
        return paces
    if "limits" not in kept:
        return None
    history = ReportHistory(BatchLimits(**kept["limits"]))
    if kept["noise"] is not None:
        for timing in kept["timings"]:
            history.add(Timing(**timing), GradientNoise(**kept["noise"]))
    return history
