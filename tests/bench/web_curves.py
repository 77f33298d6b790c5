"""Two thousand learning curves of a thousand points each, drawn by the chart of the pages in a real browser.

From the moment that the page has the points until the frame that shows them has been made; each run has curves that were never seen before.
"""

import asyncio

from tests.bench.dashboard import played
from tests.bench.harness import Figures, Report, percentile, run

CURVES, POINTS, RUNS = 2000, 1000, 9


def measure(report: Report) -> Figures:
    report.inputs(curves=CURVES, points=POINTS, runs=RUNS)
    durations_ms = asyncio.run(played("curves.mjs", CURVES, POINTS, RUNS, within_s=300))
    report.say(", ".join(f"{one:.0f} ms" for one in durations_ms))
    return {"draw_ms": round(percentile(durations_ms, 0.5), 1), "slowest_ms": round(max(durations_ms), 1)}


if __name__ == "__main__":
    run("web_curves", measure)
