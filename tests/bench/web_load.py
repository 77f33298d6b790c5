"""The first view of the list of 10,000 experiments in a real browser, with a cold cache: when it can be used, and how much script it took."""

import asyncio

from tests.bench.dashboard import played, signed_in
from tests.bench.embedded import platform
from tests.bench.gateway_reads import fill
from tests.bench.harness import Figures, Report, percentile, run

EXPERIMENTS, RUNS = 10_000, 9


def measure(report: Report) -> Figures:
    report.inputs(experiments=EXPERIMENTS, runs=RUNS)
    with platform(workers=1, READS_PER_S="100000") as bench:
        fill(bench, EXPERIMENTS)
        url = bench.client.address.url
        measured = asyncio.run(played("load.mjs", url, *signed_in(bench), RUNS, within_s=300))
    for one in measured:
        report.say(", ".join(f"{key} {found:.0f}" for key, found in one.items()))
    middle = {key: percentile([one[key] for one in measured], 0.5) for key in measured[0]}
    return {key: round(found, 1) for key, found in middle.items()}


if __name__ == "__main__":
    run("web_load", measure)
