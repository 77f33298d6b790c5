"""Two thousand learning curves of a thousand points each, drawn by the chart of the pages in a real browser.

From the moment that the page has the points until the frame that shows them has been made; each run has curves that were never seen before.
"""

import json
import shutil
import subprocess
from pathlib import Path

from tests.bench.harness import Figures, Report, percentile, run

CURVES, POINTS, RUNS = 2000, 1000, 9
WEB = Path(__file__).resolve().parents[2] / "web"


def measure(report: Report) -> Figures:
    chromium = shutil.which("chromium")
    if chromium is None or not (WEB / "node_modules").exists():
        raise SystemExit("it takes chromium (apt install chromium) and the dashboard's packages (make web)")
    report.inputs(curves=CURVES, points=POINTS, runs=RUNS)
    command = ["node", "bench/curves.mjs", str(CURVES), str(POINTS), str(RUNS)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0 or done.stderr:
        raise SystemExit(done.stderr)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    report.say(", ".join(f"{one:.0f} ms" for one in told))
    return {"draw_ms": round(percentile(told, 0.5), 1), "slowest_ms": round(max(told), 1)}


if __name__ == "__main__":
    run("web_curves", measure)
