"""The leader's metrics for Prometheus. A standby exports no pool metrics."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import REGISTRY, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.published_events import Fact, Granted
from shared.ids import PoolName

_CYCLE_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0, 43200.0, 172800.0)

CYCLE_DURATION = Histogram(
    "muster_scheduler_cycle_duration_seconds",
    "Duration of a cycle: plan, save, send",
    buckets=_CYCLE_BUCKETS_S,
)
PLAN_DURATION = Histogram(
    "muster_scheduler_plan_duration_seconds",
    "Duration of applying events and planning the pools that changed",
    buckets=_CYCLE_BUCKETS_S,
)
GRANT_LATENCY = Histogram(
    "muster_scheduler_grant_latency_seconds",
    "Time from a request, or from the end of the trial's last run, to its grant",
    ["pool"],
    buckets=_WAIT_BUCKETS_S,
)


def observe_grants(facts: Iterable[Fact]) -> None:
    """Observe how long each granted request has waited."""
    for fact in facts:
        if isinstance(fact, Granted):
            waited_s = (fact.run.granted_at - fact.waited_since).total_seconds()
            # A request may be newer than the start of the cycle that grants it.
            GRANT_LATENCY.labels(fact.run.pool).observe(max(0.0, waited_s))


@contextmanager
def pool_metrics(pools: Mapping[PoolName, Pool]) -> Iterator[None]:
    """Export queue and slot metrics of each pool while the block runs."""
    collector = _PoolCollector(pools)
    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


class _PoolCollector(Collector):
    """Reads the pools at each scrape. Scrapes run on the event loop and therefore never during a plan."""

    def __init__(self, pools: Mapping[PoolName, Pool]) -> None:
        self._pools = pools

    def collect(self) -> Iterable[GaugeMetricFamily]:
        queue = GaugeMetricFamily(
            "muster_scheduler_queue_length", "Requests that wait for slots", labels=["pool"]
        )
        slots = GaugeMetricFamily(
            "muster_scheduler_slots", "Slots of machines that accept work, by state", labels=["pool", "state"]
        )
        for name, pool in self._pools.items():
            free = float(pool.capacity.free)
            queue.add_metric([name], len(pool.queue))
            slots.add_metric([name, "free"], free)
            slots.add_metric([name, "used"], float(pool.capacity.total) - free)
        return queue, slots
