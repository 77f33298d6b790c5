"""Trains on one core for ever, saves a state of 1 GiB when it is asked to, and writes down when it made its steps.

What it is asked and what it answers are files in a folder: `go-N` begins checkpoint N, `saved-N` says when its files were written.
"""

import json
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import muster

STEP_S = 0.01


def main() -> None:
    trial = muster.trial({"folder": "bench", "files": 8, "file_mib": 128})
    folder = Path(str(trial.hparams["folder"]))
    files, file_mib = (int(str(trial.hparams[name])) for name in ("files", "file_mib"))
    generator = np.random.default_rng(7)
    state = [generator.integers(0, 2**63, file_mib * 2**17, np.int64) for _ in range(files)]
    layer = generator.normal(size=(256, 256))
    repeats = measured_repeats(layer)
    number = 1
    with (folder / "steps").open("w", buffering=1) as diary:
        while not trial.should_stop():
            for _ in range(repeats):
                layer @ layer
            diary.write(f"{time.time()}\n")
            if (folder / f"go-{number}").exists():
                for part in state:
                    part[0] = number  # so that no file is known from before
                (folder / "next").write_text(json.dumps(save(trial, number, state)))
                (folder / "next").replace(folder / f"saved-{number}")
                number += 1


def measured_repeats(layer: npt.NDArray[np.float64]) -> int:
    """How often a step multiplies, to last about 10 ms."""
    started = time.perf_counter()
    for _ in range(200):
        layer @ layer
    return max(1, round(STEP_S * 200 / (time.perf_counter() - started)))


def save(trial: muster.Trial, number: int, state: list[npt.NDArray[np.int64]]) -> dict[str, float]:
    """Return when the checkpoint began and ended, and how long of that the script itself wrote."""
    began = time.time()
    with trial.checkpoint(number) as directory:
        writing = time.time()
        for index, part in enumerate(state):
            (directory / f"part-{index}").write_bytes(part.data)
        written = time.time()
    return {"began": began, "ended": time.time(), "wrote_s": written - writing}


if __name__ == "__main__":
    main()
