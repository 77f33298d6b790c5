"""The highest rate of mixed requests at which the gateway answers 99 of 100 within 50 ms, while two trials train; and what a tenant does to the
others that sends twenty times what it may.

Everything shares the machine: the senders, the servers, the services and the trainings. Rates rise until one is too high, then halve the step.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from muster.client import Client, connect
from muster.client.settings import Address
from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.pairs import spent_s
from tests.bench.traffic import Seen, Traffic, send

MIX = {"get": 0.60, "list": 0.25, "create": 0.10, "update": 0.05}
CONNECTIONS, SECONDS, KNOWN = 200, 15.0, 20
FIRST_RATE, STEP, FINEST = 100.0, 100.0, 25.0
MOST_MS = 50.0
PAIRS, LIMIT, CALM_TENANTS, CALM_RATE, HOT_TIMES = 5, 25.0, 3, 20.0, 20
TRAINING: dict[str, Any] = {
    "name": "training",
    "entrypoint": "python3 throughput.py",
    "hyperparameters": {"steps": 10_000_000},
    "searcher": {"name": "single", "metric": "loss"},
}
WAITING: dict[str, Any] = {
    "name": "waiting",
    "entrypoint": "python3 first.py",
    "searcher": {"name": "single", "metric": "loss"},
}


def measure(report: Report) -> Figures:
    report.inputs(
        mix=MIX, connections=CONNECTIONS, seconds_each=SECONDS, workers=2, pairs=PAIRS,
        limit_per_tenant=LIMIT, calm_tenants=CALM_TENANTS, calm_rate=CALM_RATE, hot_rate=LIMIT * HOT_TIMES,
    )  # fmt: skip
    # Rates of requests bound what a tenant sends: here the machine is to.
    with platform(2, READS_PER_S="100000", WRITES_PER_S="100000") as bench:
        _train(bench.client)
        highest, at_highest = _search(report, bench, _traffic(bench.client))
    with platform(2, READS_PER_S=str(LIMIT), WRITES_PER_S=str(LIMIT)) as bench:
        _train(bench.client)
        shift, refused = _shift(report, bench)
    report.check("errors_5xx", 0, at_highest.count("5", "0"))
    report.check("hot_tenant_refused", True, refused > 0)
    return {
        "rate_at_50ms": highest,
        "p99_ms": percentile(at_highest.ms, 0.99),
        "sender_cores": at_highest.cpu_s / SECONDS,
        "hot_tenant_shift": shift,
    }


def _search(report: Report, bench: Platform, traffic: Traffic) -> tuple[float, Seen]:
    highest, at_highest, rate, step = 0.0, Seen([0.0], {}, 0.0, {}), FIRST_RATE, STEP
    send(replace(traffic, seconds=3.0))  # caches
    while step >= FINEST:
        before = spent_s(bench)
        (seen,) = send(replace(traffic, rate_per_s=rate, seed=int(rate)))
        spent = {part: (s - before.get(part, 0.0)) / SECONDS for part, s in spent_s(bench).items()}
        parts = ", ".join(
            f"{part} {spent[part]:.2f}" for part in sorted(spent, key=lambda part: -spent[part])[:8]
        )
        p99 = percentile(seen.ms, 0.99) if seen.ms else float("inf")
        is_kept = p99 <= MOST_MS and not seen.count("4", "5", "0")
        report.say(
            f"{rate:.0f}/s: p50 {percentile(seen.ms or [0.0], 0.5):.1f} ms, p99 {p99:.1f} ms, "
            f"answers {seen.statuses}, p99 by kind {seen.by_kind()}, cores: sender {seen.cpu_s / SECONDS:.2f}, {parts}"
        )
        if is_kept:
            highest, at_highest = rate, seen
        else:
            rate, step = rate - step, step / 2
        rate += step
        time.sleep(3)
    return highest, at_highest


def _shift(report: Report, bench: Platform) -> tuple[float, int]:
    """How much higher the others' p99 is beside the hot tenant, in the middle of the pairs; and how often that was refused."""
    calm = [replace(_traffic(one), rate_per_s=CALM_RATE) for one in _tenants(bench, CALM_TENANTS)]
    (hot,) = (replace(_traffic(one), rate_per_s=LIMIT * HOT_TIMES) for one in _tenants(bench, 1))
    ratios, refused = [], 0
    for pair in range(PAIRS):
        alone = send(*(replace(one, seed=pair) for one in calm))
        *beside, of_hot = send(*(replace(one, seed=pair) for one in (*calm, hot)))
        ratios.append(_p99(beside) / _p99(alone))
        refused += of_hot.count("429")
        report.say(f"pair {pair + 1}: p99 {ratios[-1]:.2f} times; the hot tenant was told {of_hot.statuses}")
    return median(ratios) - 1, refused


def _p99(seen: Sequence[Seen]) -> float:
    return percentile([ms for each in seen for ms in each.ms], 0.99)


def _tenants(bench: Platform, count: int) -> list[Client]:
    known = sum(1 for _ in bench.client.tenants.list())
    made = [bench.client.tenants.create(f"tenant-{known + number}") for number in range(count)]
    return [connect(Address(bench.client.address.url, each.secret, "")) for each in made]


def _traffic(client: Client) -> Traffic:
    code = client.experiments.put_code(TRIALS)
    known = [client.experiments.create(dict(WAITING), code) for _ in range(KNOWN)]
    return Traffic(
        url=client.address.url,
        token=client.address.token,
        rate_per_s=FIRST_RATE,
        seconds=SECONDS,
        connections=CONNECTIONS,
        mix=MIX,
        known=[str(each.id) for each in known],
        config=WAITING,
        code_sha256=code,
    )


def _train(client: Client) -> None:
    """Have both slots train until the platform goes."""
    code = client.experiments.put_code(TRIALS)
    trainings = [client.experiments.create(dict(TRAINING), code) for _ in range(2)]
    end = time.monotonic() + 60
    while any(client.experiments.get(each.id).trials.running == 0 for each in trainings):
        if time.monotonic() > end:
            raise SystemExit("the two trainings did not begin within 60 s")
        time.sleep(0.2)


if __name__ == "__main__":
    run("gateway_load", measure)
