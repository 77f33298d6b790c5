"""Operators find every metric of the platform in `docs/observability.md`."""

import importlib
from pathlib import Path

from prometheus_client import REGISTRY

ROOT = Path(__file__).parents[2]
PREFIXES = ("muster_", "db_client_")
"""The others are those of Python and of the process."""


def test_every_metric_is_documented() -> None:
    services = [f"services.{path.parent.name}.metrics" for path in ROOT.glob("services/*/metrics.py")]
    for module in ("shared.telemetry.metrics", "worker.metrics", *services):
        importlib.import_module(module)
    names = {family.name for family in REGISTRY.collect() if family.name.startswith(PREFIXES)}
    names |= {"muster_scheduler_queue_length", "muster_scheduler_slots"}  # shown while a leader leads
    text = (ROOT / "docs/observability.md").read_text()
    assert {name for name in names if f"`{name}" not in text} == set()
