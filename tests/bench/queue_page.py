"""What a page of the queue costs the scheduler's leader: one tenant has 10,000 requests waiting, in few experiments and in many.

`GetQueue` is answered from the leader's memory, between two turns: as long as it takes, nothing is granted.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from services.scheduler.core.reducers import requests
from services.scheduler.core.scheduling import run_cycle
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.pool import OrderName
from services.scheduler.core.state.records.trial import SlotNeeds, TrialRequest
from services.scheduler.cycle import LeaderTerm
from services.scheduler.queries.listing import page_of
from shared.ids import ExperimentId, PoolName, TenantId, TrialId
from shared.messages.queue import GetQueue
from shared.messages.trial_specs import DesiredState
from tests.bench.harness import Figures, Report, percentile, run
from tests.support.policies import plain

WAITING, PAGE = 10_000, 200
EXPERIMENTS = {"few": 10, "many": 10_000}
ORDERS: tuple[OrderName, ...] = ("priority", "fair_share")
POOL = PoolName("default")
TENANT = TenantId(UUID(int=1))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def measure(report: Report) -> Figures:
    """Reads the whole queue, page by page."""
    report.inputs(waiting=WAITING, page=PAGE, experiments=list(EXPERIMENTS.values()))
    figures: Figures = {}
    for order in ORDERS:
        for name, experiments in EXPERIMENTS.items():
            term = LeaderTerm(1, NOW, _waiting(order, experiments), 1, 1000, WAITING)
            seconds, seen = _read(term)
            report.check(f"entries_{order}_{name}", WAITING, seen)
            figures[f"page_{order}_{name}_ms"] = round(1000 * percentile(seconds, 0.5), 1)
    return figures


def _waiting(order: OrderName, experiments: int) -> Cluster:
    cluster = Cluster()
    cluster.advance_to(NOW)
    cluster.put_pool(plain(POOL, order=order))
    for number in range(WAITING):
        trial = TrialId(UUID(int=1_000_000 + number))
        experiment = ExperimentId(UUID(int=1 + number % experiments))
        cluster.apply(
            requests.on_request(cluster, replace(_REQUEST, trial=trial, experiment=experiment), number, NOW)
        )
    run_cycle(cluster, (), lambda: 1, NOW)
    return cluster


def _read(term: LeaderTerm) -> tuple[list[float], int]:
    seconds, seen, after = [], 0, None
    while seen == 0 or after:
        began = time.process_time()
        page = page_of(term, TENANT, GetQueue(limit=PAGE, after=after))
        seconds.append(time.process_time() - began)
        assert [entry.position for entry in page.entries] == list(
            range(seen + 1, seen + 1 + len(page.entries))
        )
        seen, after = seen + len(page.entries), page.next
    return seconds, seen


_REQUEST = TrialRequest(
    trial=TrialId(UUID(int=0)),
    tenant=TENANT,
    experiment=ExperimentId(UUID(int=0)),
    version=1,
    request=1,
    desired_state=DesiredState.RUN,
    decide_at=None,
    needs=SlotNeeds(),
    pool=POOL,
    max_restarts=0,
)

if __name__ == "__main__":
    run("queue_page", measure)
