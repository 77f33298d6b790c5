"""How long a rank takes to start, from its grant: forked from the warm parent, executed cold, and as a gang of two on two workers.

The grant is the moment that the scheduler's plan bears, before it is saved and sent. Ranks write down when their first line ran, when torch
and Horovod were imported, and when their first allreduce was done. Beside the cold start a bare Python imports the same, beside the gang
`horovodrun` starts the same script; both count from the start of the process. Each comes in turns with what it is compared with.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import UUID

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Database, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run

WARM, COLD, GANGS, BARE_GANGS = 20, 7, 20, 5
WARM_ENTRYPOINT, COLD_ENTRYPOINT = "python3 starting.py", "env python3 starting.py"
IMPORTS = "import time, torch, horovod.torch; print(time.time())"
TIMEOUT_S = 60.0
LOOK_S = 0.02
SETTLED_S = 0.5
GRANTED = "SELECT granted_at FROM scheduler.run WHERE experiment = $1"


@dataclass(frozen=True, slots=True)
class Start:
    """One start, in milliseconds from its grant; of a gang the later rank counts."""

    began_ms: float
    imported_ms: float
    joined_ms: float
    reduced_ms: float


class Starts:
    """Starts trials on a platform, one after the other, and reads what they wrote down."""

    def __init__(self, bench: Platform) -> None:
        self._bench = bench
        self._code = bench.client.experiments.put_code(TRIALS)
        self._database = Database(bench)
        self._number = 0

    def start(self, entrypoint: str, ranks: int) -> Start:
        """Have a trial start and end."""
        self._number += 1
        config: dict[str, JsonValue] = {
            "name": "start",
            "entrypoint": entrypoint,
            "searcher": {"name": "single", "metric": "loss"},
            "resources": {"slots_per_trial": ranks},
            "max_restarts": 0,
        }
        made = self._bench.client.experiments.create(config, self._code)
        self._bench.until_completed(made.id, LOOK_S, TIMEOUT_S)
        time.sleep(SETTLED_S)
        granted = self._database.value(GRANTED, made.id).timestamp()
        return _start_from(granted, self._lines(made.id, ranks))

    def _lines(self, experiment: UUID, ranks: int) -> list[str]:
        """What the ranks printed, once the registry has it."""
        (trial,) = self._bench.client.trials.list(experiment)
        end = time.monotonic() + TIMEOUT_S
        while True:
            lines = [line.text for line in self._bench.client.trials.logs(trial.id) if "began" in line.text]
            if len(lines) == ranks:
                return lines
            if time.monotonic() > end:
                raise SystemExit(f"{len(lines)} of {ranks} ranks printed how they started")
            time.sleep(LOOK_S)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def measure(report: Report) -> Figures:
    report.inputs(warm=WARM, cold=COLD, gangs=GANGS, horovodruns=BARE_GANGS, workers=2, slots_per_worker=1)
    with platform(workers=2) as bench:
        starts = Starts(bench)
        starts.start(WARM_ENTRYPOINT, 2)  # fetches the code on both workers
        warm = [starts.start(WARM_ENTRYPOINT, 1) for _ in range(WARM)]
        cold = [(_import_bare(), starts.start(COLD_ENTRYPOINT, 1)) for _ in range(COLD)]
        gangs = [starts.start(WARM_ENTRYPOINT, 2) for _ in range(GANGS)]
        starts.close()
        bare_gangs = [_run_horovod(bench.home / f"bare-{number}") for number in range(BARE_GANGS)]
    report.check("started", WARM + COLD + GANGS, len(warm) + len(cold) + len(gangs))
    return {
        "warm_median_ms": median(one.began_ms for one in warm),
        "warm_p90_ms": percentile([one.began_ms for one in warm], 0.9),
        "warm_joined_median_ms": median(one.joined_ms for one in warm),
        "cold_ratio": median(one.imported_ms / bare_ms for bare_ms, one in cold),
        "cold_median_ms": median(one.imported_ms for _, one in cold),
        "bare_import_median_ms": median(bare_ms for bare_ms, _ in cold),
        "gang_median_ms": median(one.reduced_ms for one in gangs),
        "gang_p90_ms": percentile([one.reduced_ms for one in gangs], 0.9),
        "gang_began_median_ms": median(one.began_ms for one in gangs),
        "horovodrun_median_ms": median(bare_gangs),
    }


def _import_bare() -> float:
    """Milliseconds until a fresh Python has imported what a rank needs."""
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=60, check=True
    )
    return (float(done.stdout) - began) * 1000


def _run_horovod(diary: Path) -> float:
    """Milliseconds until two ranks under `horovodrun` have exchanged something."""
    program = Path(sys.executable).with_name("horovodrun")
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "MUSTER_HPARAMS": json.dumps({"diary": str(diary)}),
    }
    command = [str(program), "-np", "2", sys.executable, "starting.py"]
    began = time.time()
    subprocess.run(command, cwd=TRIALS, env=environment, capture_output=True, timeout=120, check=True)
    return _start_from(began, diary.read_text().splitlines()).reduced_ms


def _start_from(granted: float, printed: list[str]) -> Start:
    lines = [json.loads(line) for line in printed]
    latest = {name: (max(line[name] for line in lines) - granted) * 1000 for name in lines[0]}
    return Start(latest["began"], latest["imported"], latest["joined"], latest["reduced"])


if __name__ == "__main__":
    run("start", measure)
