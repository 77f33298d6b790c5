"""Metrics of the registry for Prometheus: what it stores of reports, and checkpoints that came to nothing."""

from prometheus_client import Counter

from services.registry.core.checkpoint import CheckpointTrigger

_RECORDS = Counter(
    "muster_ingested_records", "Records of workers' journals that were stored, by stream", ["stream"]
)
_POINTS = Counter("muster_ingested_points", "Points of metrics that were stored")
_ABANDONED = Counter(
    "muster_checkpoints_abandoned", "Checkpoints that will not be saved, by reason", ["reason"]
)
_CORRUPT = Counter(
    "muster_checkpoints_corrupt",
    "Checkpoints whose stored bytes are not those announced, by reason",
    ["reason"],
)


def count_ingested(stream: str, records: int, points: int) -> None:
    """Count a stored batch."""
    _RECORDS.labels(stream).inc(records)
    _POINTS.inc(points)


async def count_abandoned(trigger: CheckpointTrigger) -> None:
    """Count a checkpoint that will not be saved."""
    _ABANDONED.labels(trigger.name).inc()


async def count_corrupt(trigger: CheckpointTrigger) -> None:
    """Count a checkpoint that has turned out to be damaged."""
    _CORRUPT.labels(trigger.name).inc()
