"""No training: each step is a validation whose verdict is waited for. A verdict that times out fails the trial."""

import random
import time

import muster

TIMED_OUT_S = 1.9


def value(seed: int, point: float, step: int) -> float:
    """The metric of a point at a step: its quality, and noise that fades."""
    noise = random.Random(f"{seed}:{point:.12f}:{step}").random()
    return point + noise / (step + 1)


def main() -> None:
    trial = muster.trial({"point": 0.5, "seed": 7})
    seed, point = int(str(trial.hparams["seed"])), float(str(trial.hparams["point"]))
    for step in range(1, 10):
        trial.validate(step, loss=value(seed, point, step), iteration=step)
        began = time.monotonic()
        stop = trial.should_stop()
        if time.monotonic() - began > TIMED_OUT_S:
            raise SystemExit("a verdict did not come in time")
        if stop:
            return


if __name__ == "__main__":
    main()
