"""The highest rate of mixed requests that the gateway answers within 50 ms (99 of 100), and the effect of a tenant that sends twenty times its rate.

- `rate_at_50ms`: nothing trains; trials that sleep hold the slots, so that what is created waits. This is the figure that counts: in production the control plane has cores of its own.
- `rate_at_50ms_beside_trainings`: two trials train on the same machine.
- `hot_tenant_shift`: by how much the hot tenant raises the p99 of the others, in parts of their p99 alone; nothing trains.
- `errors_5xx`: answers 5xx in all pieces at rates that were met, and of all calm tenants.

Senders, servers, services and trainings share the machine. Rates double until one is too high, and then approach it to `FINEST`. Before each piece the
experiments of the one before are ended, and the platform is idle again.

Environment, to look for where time goes: `GATEWAY_MODE=quiet` or `trainings` runs one of the two searches, `GATEWAY_RATES=25,50` takes pieces at these rates
alone (quiet unless the mode is `trainings`), `GATEWAY_PAIRS=2` takes so many pairs of the hot tenant's.
"""

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from statistics import median
from typing import Any

from muster.client import Client, connect
from muster.client.settings import Address
from muster.errors import MusterError
from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.pairs import spent_s
from tests.bench.traffic import Seen, Traffic, send

MIX = {"get": 0.60, "list": 0.25, "create": 0.10, "update": 0.05}
CONNECTIONS, SECONDS, LEAST, KNOWN = 200, 15.0, 1_000, 20
"""A piece takes so long, and so much longer that it has so many requests: of four hundred the fourth slowest alone would decide."""
FIRST_RATE, FINEST = 25.0, 25.0
IDLE_CORES, LOOK_S, REST_S = 0.2, 2.0, 120.0
"""Between pieces the platform is waited for until it takes no more than this; the trainings are not it."""
MOST_MS = 50.0
PAIRS, LIMIT, CALM_TENANTS, CALM_RATE, HOT_TIMES = 5, 25.0, 3, 20.0, 20
"""`LIMIT` is each tenant's own rate, of all its requests: what is let through of the hot one's is of the mix, as what it sends. Rates of the site, by reads and
writes, would let through as many writes as reads: at 25 of each seven times as many writes as the mix has."""
TRAINING: dict[str, Any] = {
    "name": "training",
    "entrypoint": "python3 throughput.py",
    "hyperparameters": {"steps": 10_000_000},
    "searcher": {"name": "single", "metric": "loss"},
}
SLEEPING: dict[str, Any] = {
    "name": "sleeping",
    "entrypoint": "sleep 100000",
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
    rates, pairs = os.environ.get("GATEWAY_RATES", ""), os.environ.get("GATEWAY_PAIRS", "")
    mode = os.environ.get("GATEWAY_MODE", "")
    modes = [mode] if mode else ["quiet"] if rates or pairs else ["quiet", "trainings"]
    figures: Figures = {}
    errors = 0
    for mode in modes if rates or not pairs else []:
        with _platform(trains=mode == "trainings") as bench:
            traffic = _traffic(bench.client)
            if rates:
                figures |= _pieces(report, bench, traffic, rates)
                continue
            found, seen = _search(report, bench, traffic, "" if mode == "quiet" else "_beside_trainings")
            figures |= found
            errors += seen
    if pairs or not (rates or mode):
        with _platform(trains=False) as bench:
            found, seen = _shift(report, bench, int(pairs or PAIRS))
            figures |= found
            errors += seen
    report.check("errors_5xx", 0, errors)
    return figures


@contextmanager
def _platform(trains: bool) -> Iterator[Platform]:
    """Without rate limits of the site: a tenant sends as much as the machine carries, or as its own rate allows."""
    with platform(2, READS_PER_S="100000", WRITES_PER_S="100000") as bench:
        _hold_slots(bench.client, TRAINING if trains else SLEEPING)
        yield bench


def _pieces(report: Report, bench: Platform, traffic: Traffic, rates: str) -> Figures:
    """The p99 at each of the rates, in milliseconds."""
    send(replace(traffic, rate_per_s=FIRST_RATE, seconds=3.0))  # caches
    found: Figures = {}
    for number, rate in enumerate(map(float, rates.split(","))):
        _clear(report, bench, traffic)
        seen = _piece(report, bench, replace(traffic, rate_per_s=rate, seed=number))
        found[f"p99_ms_{number}_at_{rate:.0f}"] = percentile(seen.ms or [math.inf], 0.99)
    return found


def _search(report: Report, bench: Platform, traffic: Traffic, suffix: str) -> tuple[Figures, int]:
    """The figures, and how many answers at the rate found were 5xx."""
    highest, at_highest, rate, too_high = 0.0, Seen([0.0], {}, 0.0, {}), FIRST_RATE, math.inf
    send(replace(traffic, rate_per_s=FIRST_RATE, seconds=3.0))  # caches
    while too_high - highest > FINEST:
        _clear(report, bench, traffic)
        seen = _piece(report, bench, replace(traffic, rate_per_s=rate, seed=int(rate)))
        if percentile(seen.ms or [math.inf], 0.99) <= MOST_MS and not seen.count("4", "5", "0"):
            highest, at_highest = rate, seen
        else:
            too_high = rate
        between = (highest + too_high) / 2 // FINEST * FINEST
        rate = 2 * highest if too_high == math.inf else max(between, highest + FINEST)
    figures: Figures = {
        f"rate_at_50ms{suffix}": highest,
        f"p99_ms{suffix}": percentile(at_highest.ms, 0.99),
        f"sender_cores{suffix}": at_highest.cpu_s * highest / max(SECONDS * highest, LEAST),
    }
    return figures, at_highest.count("5", "0")


def _piece(report: Report, bench: Platform, traffic: Traffic) -> Seen:
    seconds = max(SECONDS, LEAST / traffic.rate_per_s)
    before = spent_s(bench)
    (seen,) = send(replace(traffic, seconds=seconds))
    spent = {part: (s - before.get(part, 0.0)) for part, s in spent_s(bench).items()}
    parts = ", ".join(
        f"{part} {spent[part] / seconds:.2f}" for part in sorted(spent, key=lambda part: -spent[part])[:8]
    )
    report.say(
        f"{traffic.rate_per_s:.0f}/s: p50 {percentile(seen.ms or [0.0], 0.5):.1f} ms, p99 {percentile(seen.ms or [0.0], 0.99):.1f} ms, "
        f"answers {seen.statuses}, p99 by kind {seen.by_kind()}, cores: sender {seen.cpu_s / seconds:.2f}, {parts}; "
        f"{sum(spent.values()) / sum(seen.statuses.values()) * 1000:.1f} ms of the platform's processors for each request"
    )
    return seen


def _clear(report: Report, bench: Platform, traffic: Traffic) -> None:
    """Ends what pieces have created, and waits until nothing of it is worked on any more."""
    kept = set(traffic.known)
    for one in list(bench.client.experiments.list(states=["active", "submitted"])):
        if one.name == WAITING["name"] and str(one.id) not in kept:
            with suppress(MusterError):  # it has ended by itself meanwhile
                bench.client.experiments.kill(one.id)
    _rest(report, bench)


def _rest(report: Report, bench: Platform) -> None:
    """Waits until the platform has come to rest."""
    end, cores = time.monotonic() + REST_S, math.inf
    while cores > IDLE_CORES and time.monotonic() < end:
        before = sum(spent_s(bench).values())
        time.sleep(LOOK_S)
        cores = (sum(spent_s(bench).values()) - before) / LOOK_S
    if cores > IDLE_CORES:
        report.say(f"the platform still takes {cores:.2f} cores {REST_S:g} s after the piece before")


def _shift(report: Report, bench: Platform, pairs: int) -> tuple[Figures, int]:
    """By how much the hot tenant raises the p99 of the others (median of the pairs), their p99 alone and beside it; and how many of their answers were 5xx."""
    calm = [replace(_traffic(one), rate_per_s=CALM_RATE) for one in _tenants(bench, CALM_TENANTS)]
    (hot,) = (replace(_traffic(one), rate_per_s=LIMIT * HOT_TIMES) for one in _tenants(bench, 1))
    found, refused, errors = [], 0, 0
    for pair in range(pairs):
        _rest(report, bench)
        # Each at moments of its own: tenants that send the same at the same moments are one in haste.
        streams = [replace(one, seed=pair * (CALM_TENANTS + 1) + n) for n, one in enumerate((*calm, hot))]
        alone = send(*streams[:-1])
        _rest(report, bench)
        *beside, of_hot = send(*streams)
        found.append((_p99(alone), _p99(beside)))
        refused += of_hot.count("429")
        errors += sum(one.count("5", "0") for one in (*alone, *beside))
        report.say(
            f"pair {pair + 1}: p99 {found[-1][0]:.1f} ms alone, {found[-1][1]:.1f} beside; the hot tenant was told {of_hot.statuses}"
        )
    report.check("hot_tenant_refused", True, refused > 0)
    figures: Figures = {
        "hot_tenant_shift": median(beside / alone for alone, beside in found) - 1,
        "alone_p99_ms": median(alone for alone, _ in found),
        "beside_p99_ms": median(beside for _, beside in found),
    }
    return figures, errors


def _p99(seen: Sequence[Seen]) -> float:
    return percentile([ms for each in seen for ms in each.ms], 0.99)


def _tenants(bench: Platform, count: int) -> list[Client]:
    known = sum(1 for _ in bench.client.tenants.list())
    made = [bench.client.tenants.create(f"tenant-{known + number}") for number in range(count)]
    for one in made:
        bench.client.quotas.set(tenant=one.name, requests_per_s=LIMIT)
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


def _hold_slots(client: Client, config: dict[str, Any]) -> None:
    """Have a trial of this config in each of the two slots until the platform goes."""
    code = client.experiments.put_code(TRIALS)
    holding = [client.experiments.create(dict(config), code) for _ in range(2)]
    end = time.monotonic() + 60
    while any(client.experiments.get(each.id).trials.running == 0 for each in holding):
        if time.monotonic() > end:
            raise SystemExit(f"the two trials '{config['name']}' did not begin within 60 s")
        time.sleep(0.2)


if __name__ == "__main__":
    run("gateway_load", measure)
