"""A page of 50 out of 100,000 experiments with a filter, over REST; and what it costs to know a caller who was here a moment ago."""

import asyncio
import random
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx

from services.gateway.platform.auth.authentication import Authenticator, CallerCredentials
from services.gateway.platform.auth.grants import Binding, Scope, combine_bindings, row_filters
from services.gateway.platform.auth.permissions import ROLES, Permission
from services.gateway.platform.auth.tokens import RANDOM_BYTES, render_token
from services.gateway.platform.call_context import Caller, check_permission
from shared.clock import SystemClock
from shared.ids import TenantId
from tests.bench.embedded import TRIALS, Database, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run

EXPERIMENTS, PAGE, ASKED, SEED = 100_000, 50, 400, 1
WORKSPACES, CALLS = 20, 20_000
CONFIG: dict[str, Any] = {
    "name": "first",
    "entrypoint": "python3 first.py",
    "searcher": {"name": "single", "metric": "loss"},
}
FILTERS: dict[str, dict[str, Any]] = {
    "state": {"state": "completed"},
    "label": {"label": "l7"},
    "name": {"name_contains": "run 4321"},
    "both": {"state": "error", "label": "l3"},
}
COPY = """
INSERT INTO gateway.experiment (id, number, name, labels, state, created_at, {others})
SELECT gen_random_uuid(), number + n, 'run ' || n, ARRAY['l' || n % 50, 'all'],
    (ARRAY['completed', 'completed', 'completed', 'error', 'cancelled'])[1 + n % 5], created_at - $1::interval * n, {others}
FROM gateway.experiment, generate_series(1, $2::int) n WHERE id = $3
"""


def measure(report: Report) -> Figures:
    report.inputs(experiments=EXPERIMENTS, page=PAGE, filters=FILTERS, requests_each=ASKED, places=WORKSPACES)
    with platform(workers=1, READS_PER_S="100000") as bench:
        fill(bench, EXPERIMENTS)
        by_filter = {name: _ask(report, bench, name, query) for name, query in FILTERS.items()}
    return {
        "list_p99_ms": max(percentile(ms, 0.99) for ms in by_filter.values()),
        "list_p50_ms": max(percentile(ms, 0.5) for ms in by_filter.values()),
        "authz_ms": asyncio.run(_authorise()),
    }


def fill(bench: Platform, experiments: int) -> None:
    """Copies of one real experiment, with names, labels and states of their own."""
    made = bench.client.experiments.create(dict(CONFIG), bench.client.experiments.put_code(TRIALS))
    bench.until_completed(made.id, 0.1, 60)
    database = Database(bench)
    try:
        columns = database.value(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_schema = 'gateway' "
            "AND table_name = 'experiment' AND column_name NOT IN ('id', 'number', 'name', 'labels', 'state', 'created_at')"
        )
        database.value(COPY.format(others=columns), timedelta(seconds=1), experiments, made.id)
        database.value("UPDATE gateway.counter SET experiments = experiments + $1", experiments)
        database.value("ANALYZE gateway.experiment")
    finally:
        database.close()


def _ask(report: Report, bench: Platform, name: str, query: dict[str, Any]) -> list[float]:
    """The first page, then the pages behind it, as a person turns them."""
    address, times_ms = bench.client.address, []
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url, headers=headers) as http:
        cursor: str | None = None
        for index in range(ASKED + 10):
            more = {"cursor": cursor} if cursor else {}
            began = time.perf_counter()
            answer = http.get("/v1/experiments", params={"limit": PAGE, **query, **more})
            if index >= 10:  # the first ones fill caches
                times_ms.append((time.perf_counter() - began) * 1000)
            answer.raise_for_status()
            cursor = answer.json()["next_cursor"] if index % 10 else None
    report.say(
        f"{name}: p50 {percentile(times_ms, 0.5):.1f} ms, p99 {percentile(times_ms, 0.99):.1f} ms of {len(times_ms)}"
    )
    return times_ms


class _Known(Authenticator):
    """Whoever asks has a role in each of many workspaces."""

    async def _look_up(self, bearer: str | None, text: str, hashed: bytes) -> Caller:
        given = [
            Binding("editor", ROLES["editor"], Scope(f"workspace-{index}")) for index in range(WORKSPACES)
        ]
        return Caller(TenantId(UUID(int=1)), "tenant", UUID(int=2), "somebody", combine_bindings(given, None))


async def _authorise() -> float:
    """Milliseconds from a bearer token to what its call sees, for one who is remembered."""
    clock = SystemClock()
    known = _Known(None, b"pepper", clock, None, {})  # type: ignore[arg-type]
    credentials = CallerCredentials(render_token(bytes(RANDOM_BYTES)))
    needed = random.Random(SEED).choices([Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE], k=CALLS)
    began = time.process_time()
    for permission in needed:
        caller = await known.caller_of(credentials)
        check_permission(caller, permission, names_object=True)
        row_filters(caller.grants, permission)
    return (time.process_time() - began) * 1000 / CALLS


if __name__ == "__main__":
    run("gateway_reads", measure)
