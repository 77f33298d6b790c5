"""What one request of each kind costs the whole platform: processor time by process until all that it has set off is done, transactions, and messages.

Each kind is sent alone, as often as `gateway_load` sends it at the rate that is asked for, while the only slot is taken: what is created waits. What the
platform takes when nobody asks anything is taken off.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muster.client import Client
from tests.bench.embedded import TRIALS, Database, Platform, platform
from tests.bench.gateway_load import MIX
from tests.bench.harness import Figures, Report, run
from tests.bench.pairs import spent_s
from tests.bench.traffic import Traffic, send

RATE, SECONDS, CONNECTIONS, KNOWN = 250.0, 10.0, 200, 20
AFTER_S = 4.0
"""So long what a request sets off takes at most."""
MAX_ROWS = 8
HOLDING: dict[str, Any] = {
    "name": "holding",
    "entrypoint": "sleep 100000",
    "searcher": {"name": "single", "metric": "loss"},
}
WAITING: dict[str, Any] = {**HOLDING, "name": "waiting", "entrypoint": "python3 first.py"}
MESSAGES = "SELECT " + " + ".join(
    f"(SELECT count(*) FROM {schema}.outbox)" for schema in ("gateway", "searcher", "scheduler", "registry", "provisioner")
)  # fmt: skip
TRANSACTIONS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True, slots=True)
class Spent:
    """So far, or between two looks: seconds of a processor by part, transactions, messages."""

    cpu_s: Mapping[str, float]
    transactions: float
    messages: float

    def less(self, other: "Spent", times: float = 1.0) -> "Spent":
        """What came since `other`, which counts so many times."""
        cpu_s = {part: spent - times * other.cpu_s.get(part, 0.0) for part, spent in self.cpu_s.items()}
        return Spent(
            cpu_s,
            self.transactions - times * other.transactions,
            self.messages - times * other.messages,
        )


def measure(report: Report) -> Figures:
    report.inputs(rate=RATE, mix=MIX, seconds=SECONDS, connections=CONNECTIONS, known=KNOWN)
    with platform(1, READS_PER_S="100000", WRITES_PER_S="100000") as bench:
        database = Database(bench)
        try:
            return _measure_with(report, bench, lambda: _look(bench, database))
        finally:
            database.close()


def _measure_with(report: Report, bench: Platform, look: Callable[[], Spent]) -> Figures:
    traffic = _traffic(bench.client)
    send(replace(traffic, mix=MIX, rate_per_s=RATE / 5, seconds=3.0, seed=0))  # caches
    time.sleep(AFTER_S)
    began = look()
    time.sleep(SECONDS)
    idle = look().less(began)
    cost_ms: dict[str, float] = {}
    for kind, share in MIX.items():
        before = look()
        (seen,) = send(replace(traffic, mix={kind: 1.0}, rate_per_s=share * RATE))
        time.sleep(AFTER_S)
        spent = look().less(before).less(idle, (SECONDS + AFTER_S) / SECONDS)
        asked = sum(seen.statuses.values())
        cost_ms[kind] = sum(spent.cpu_s.values()) * 1000 / asked
        report.check(f"{kind}_refused", 0, asked - seen.count("2"))
        report.say(f"{kind}: {cost_ms[kind]:.2f} ms: {_parts(spent, asked)}")
    return {
        "request_ms": sum(share * cost_ms[kind] for kind, share in MIX.items()),
        **{f"{kind}_ms": ms for kind, ms in cost_ms.items()},
    }


def _parts(spent: Spent, asked: int) -> str:
    most = sorted(spent.cpu_s, key=lambda part: -spent.cpu_s[part])[:MAX_ROWS]
    parts = ", ".join(f"{part} {spent.cpu_s[part] * 1000 / asked:.2f}" for part in most)
    return f"{parts}; {spent.transactions / asked:.1f} transactions, {spent.messages / asked:.1f} messages"


def _look(bench: Platform, database: Database) -> Spent:
    return Spent(spent_s(bench), float(database.value(TRANSACTIONS)), float(database.value(MESSAGES)))


def _traffic(client: Client) -> Traffic:
    code = client.experiments.put_code(TRIALS)
    held = client.experiments.create(dict(HOLDING), code)
    while client.experiments.get(held.id).trials.running == 0:
        time.sleep(0.2)
    known = [client.experiments.create(dict(WAITING), code) for _ in range(KNOWN)]
    return Traffic(
        url=client.address.url,
        token=client.address.token,
        rate_per_s=RATE,
        seconds=SECONDS,
        connections=CONNECTIONS,
        mix={},
        known=[str(each.id) for each in known],
        config=WAITING,
        code_sha256=code,
    )


if __name__ == "__main__":
    run("gateway_costs", measure)
