"""MLflow's server on Postgres: `mlflow_metrics.py URL SECONDS THREADS…`; the last line is JSON. Runs in a venv of its own.

So many client threads log batches of 1,000 metrics, the most that its API takes, each to a run of its own; the best of the numbers of
threads is told, with the single `log_metric` calls of one thread.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}

from mlflow import MlflowClient
from mlflow.entities import Metric

NAMES = ("loss", "accuracy", "learning_rate", "gradient_norm", "samples_per_second")
BATCH = 1_000
READY_S = 100
Log = Callable[[MlflowClient, str, int], int]
"""Logs what comes behind so many points of a run, and returns how many these were."""


def main(url: str, seconds: str, *threads: str) -> None:
    url = url.replace("postgresql://", "postgresql+psycopg://")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--backend-store-uri",
            url,
            "--artifacts-destination",
            folder,
        ]
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port), "--workers", "4"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            client = MlflowClient(_ready(f"http://127.0.0.1:{port}", server))
            experiment = client.create_experiment("bench")
            rates = {
                count: _rate(client, experiment, int(count), float(seconds), _batch) for count in threads
            }
            single = _rate(client, experiment, 1, float(seconds) / 2, _single)
        finally:
            os.killpg(server.pid, 9)
            server.wait()
    best = max(rates, key=lambda count: rates[count])
    print(
        json.dumps(
            {"batch_points_per_s": rates[best], "batch_threads": int(best), "log_metric_per_s": single}
        )
    )


def _ready(url: str, server: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2)
            return url
        except OSError:
            time.sleep(0.2)
    raise SystemExit("MLflow's server did not become ready")


def _rate(client: MlflowClient, experiment: str, threads: int, seconds: float, log: Log) -> float:
    counts, end = [0] * threads, time.monotonic() + seconds

    def play(place: int) -> None:
        run = client.create_run(experiment).info.run_id
        while time.monotonic() < end:
            counts[place] += log(client, run, counts[place])

    began = time.monotonic()
    playing = [threading.Thread(target=play, args=(place,)) for place in range(threads)]
    for thread in playing:
        thread.start()
    for thread in playing:
        thread.join()
    return sum(counts) / (time.monotonic() - began)


def _batch(client: MlflowClient, run: str, done: int) -> int:
    now, steps = int(time.time() * 1000), BATCH // len(NAMES)
    first = done // len(NAMES)
    client.log_batch(
        run, [Metric(name, step / 7, now, first + step) for step in range(steps) for name in NAMES]
    )
    return BATCH


def _single(client: MlflowClient, run: str, done: int) -> int:
    client.log_metric(run, "loss", done / 7, step=done)
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])
