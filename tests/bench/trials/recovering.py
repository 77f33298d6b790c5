"""No training: steps of equal length, a checkpoint when one is due, and a line for each step in a file that the benchmark reads."""

import os
import time

import muster


def main() -> None:
    trial = muster.trial({"diary": os.devnull, "step_s": 0.02})
    step_s = float(str(trial.hparams["step_s"]))
    step = start = int((trial.latest_checkpoint / "step").read_text()) if trial.latest_checkpoint else 0
    with open(str(trial.hparams["diary"]), "a", buffering=1) as diary:
        while not trial.should_stop():
            time.sleep(step_s)
            step += 1
            trial.report(step, loss=1.0 / step)
            diary.write(f"{time.monotonic()} {os.getpid()} {start} {step}\n")
            if trial.should_checkpoint(step, validated=False):
                with trial.checkpoint(step) as folder:
                    (folder / "step").write_text(str(step))


if __name__ == "__main__":
    main()
