"""The first view of the list of 10,000 experiments in a real browser, with a cold cache: when it can be used, and how much script it took."""

import json
import shutil
import subprocess
from http.cookies import SimpleCookie
from pathlib import Path

import httpx

from tests.bench.embedded import Platform, platform
from tests.bench.gateway_reads import fill
from tests.bench.harness import Figures, Report, percentile, run

EXPERIMENTS, RUNS = 10_000, 9
PASSWORD = "correct horse battery"
WEB = Path(__file__).resolve().parents[2] / "web"


def measure(report: Report) -> Figures:
    chromium = shutil.which("chromium")
    if chromium is None or not (WEB / "dist" / "routes.json").exists():
        raise SystemExit("it takes chromium (apt install chromium) and the built dashboard (make web)")
    report.inputs(experiments=EXPERIMENTS, runs=RUNS)
    with platform(workers=1, READS_PER_S="100000") as bench:
        fill(bench, EXPERIMENTS)
        name, value = _signed_in(bench)
        command = ["node", "bench/load.mjs", bench.client.address.url, name, value, str(RUNS)]
        done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for one in told:
        report.say(", ".join(f"{key} {found:.0f}" for key, found in one.items()))
    middle = {key: percentile([one[key] for one in told], 0.5) for key in told[0]}
    return {key: round(found, 1) for key, found in middle.items()}


def _signed_in(bench: Platform) -> tuple[str, str]:
    """The cookie of somebody who has signed in by a password."""
    address = bench.client.address
    with httpx.Client(base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}) as admin:
        admin.post("/v1/users", json={"name": "ann"}).raise_for_status()
        admin.post("/v1/role-bindings", json={"role": "editor", "user": "ann"}).raise_for_status()
        admin.put("/v1/users/ann/password", json={"password": PASSWORD}).raise_for_status()
    with httpx.Client(base_url=address.url, headers={"Muster-Session": "cookie"}) as browser:
        answer = browser.post("/v1/sessions", json={"user": "ann", "password": PASSWORD})
        answer.raise_for_status()
    (kept,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return kept.key, kept.value


if __name__ == "__main__":
    run("web_load", measure)
