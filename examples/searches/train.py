"""A toy trial that trains like a network: its loss falls per epoch towards a limit set by its hyperparameters. No data, no framework."""

import json
import math
import time

import muster

DEFAULTS = {"lr": 0.01, "width": 64, "optimizer": "adam", "epochs": 9}


def main():
    trial = muster.trial(DEFAULTS)
    hp = trial.hparams
    least = (
        (math.log10(hp["lr"]) + 2) ** 2
        + (math.log2(hp["width"]) - 6) ** 2 / 8
        + 0.2 * (hp["optimizer"] == "sgd")
    )
    epoch, loss = 0, 8.0
    if trial.latest_checkpoint:
        saved = json.loads((trial.latest_checkpoint / "state.json").read_text())
        epoch, loss = saved["epoch"], saved["loss"]
    while epoch < hp["epochs"]:
        epoch += 1
        loss += 0.5 * (least - loss)
        time.sleep(0.02)
        trial.validate(epoch, epochs=epoch, loss=loss, latency_ms=hp["width"] / 4)
        stops = trial.should_stop()
        with trial.checkpoint(epoch) as directory:
            (directory / "state.json").write_text(json.dumps({"epoch": epoch, "loss": loss}))
        if stops:
            return


if __name__ == "__main__":
    main()
