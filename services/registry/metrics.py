"""Prometheus metrics of the registry: ingested reports, and failed checkpoints."""

from prometheus_client import Counter

from services.registry.core.checkpoint import CheckpointTrigger

_RECORDS = Counter("muster_ingested_records", "Journal records stored, by stream", ["stream"])
_POINTS = Counter("muster_ingested_points", "Metric points stored")
_ABANDONED = Counter("muster_checkpoints_abandoned", "Abandoned checkpoints, by reason", ["reason"])
_CORRUPT = Counter(
    "muster_checkpoints_corrupt",
    "Checkpoints whose stored bytes differ from those announced, by reason",
    ["reason"],
)


def count_ingested(stream: str, records: int, points: int) -> None:
    """Count a stored batch."""
    _RECORDS.labels(stream).inc(records)
    _POINTS.inc(points)


async def count_abandoned(trigger: CheckpointTrigger) -> None:
    """Count an abandoned checkpoint."""
    _ABANDONED.labels(trigger.name).inc()


async def count_corrupt(trigger: CheckpointTrigger) -> None:
    """Count a corrupt checkpoint."""
    _CORRUPT.labels(trigger.name).inc()
