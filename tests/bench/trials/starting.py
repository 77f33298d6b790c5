"""Starts and ends: writes down when its first line ran, when its imports were there, and when its gang had exchanged something."""

import time

BEGAN = time.time()

import json  # noqa: E402

import horovod.torch as hvd  # noqa: E402
import torch  # noqa: E402

IMPORTED = time.time()

import muster  # noqa: E402


def main() -> None:
    trial = muster.trial({"diary": ""})
    joined = time.time()
    if trial.size > 1:
        hvd.allreduce(torch.ones(1), name="first")
    line = {"began": BEGAN, "imported": IMPORTED, "joined": joined, "reduced": time.time()}
    if trial.hparams["diary"]:
        with open(str(trial.hparams["diary"]), "a") as diary:
            diary.write(json.dumps(line) + "\n")
    else:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
