"""A trial without a model: its loss falls with the steps, its ranks share the work, it keeps its step in checkpoints, and it can misbehave."""

import sys
import time
from typing import Any

import muster

trial = muster.trial(
    {
        "x": 1.0,
        "steps": 6,
        "pace_s": 0.05,
        "resumed_pace_s": 0.05,
        "every": 1,
        "crash_at": 0,
        "hang_at": 0,
        "always_crash": False,
        "valid_to": 1e9,
    }
)
hp: dict[str, Any] = dict(trial.hparams)
if hp["x"] > hp["valid_to"]:
    trial.invalid(f"x is {hp['x']}, more than {hp['valid_to']}")
start = int((trial.latest_checkpoint / "step").read_text()) if trial.latest_checkpoint else 0
if trial.rank == 0:
    print(f"begins at {start} with x {hp['x']}", flush=True)
for step in range(start + 1, hp["steps"] + 1):
    time.sleep((hp["resumed_pace_s"] if start else hp["pace_s"]) / trial.size)
    trial.report(step, noise=float(step))
    trial.validate(step, epochs=step, loss=abs(hp["x"]) + 1 / step)
    if step == hp["crash_at"] and (start == 0 or hp["always_crash"]):
        print("crashes as it was told", file=sys.stderr, flush=True)
        sys.exit(3)
    while step == hp["hang_at"] and start == 0 and trial.rank == trial.size - 1:
        time.sleep(600)
    stops = trial.should_stop()
    if stops or step % hp["every"] == 0:
        with trial.checkpoint(step) as directory:
            if trial.rank == 0:
                (directory / "step").write_text(str(step))
    if stops:
        if trial.rank == 0:
            print(f"stops at {step}", flush=True)
        break
