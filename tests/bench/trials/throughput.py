"""Ranks train a model by Horovod for a fixed number of steps; prints samples a second, the warm-up left out.

A step of the middle one takes some 30 ms, as real ones do: with steps of 2 ms two ranks on two cores measure the machine's scheduler too, and
differ from themselves by a third.

Runs the same under `horovodrun` (alone) and on the platform.
"""

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

import horovod.torch as hvd
import torch
import torch.nn.functional as F

import muster

WARM_UP, EVERY = 20, 10

Task = tuple[torch.nn.Module, torch.Tensor, torch.Tensor]


def make_small() -> Task:
    """A perceptron on digits: steps of some 2 ms."""
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 10),
    )
    return model, torch.randn(64, 64), torch.randint(0, 10, (64,))


def make_middle() -> Task:
    """A small convolutional network on 32 x 32 images."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64 * 64, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 10),
    )
    return model, torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def make_large() -> Task:
    """Four layers of a transformer over 64 tokens, 3 million parameters: steps of some 0.2 s."""
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(
        torch.nn.TransformerEncoder(layer, 4), torch.nn.Flatten(), torch.nn.Linear(64 * 256, 10)
    )
    return model, torch.randn(8, 64, 256), torch.randint(0, 10, (8,))


MAKERS = {"small": make_small, "middle": make_middle, "large": make_large}


def main() -> None:
    torch.set_num_threads(1)
    trial = muster.trial({"steps": 200, "model": "middle"})
    if not hvd.is_initialized():
        hvd.init()
    torch.manual_seed(0)
    model, inputs, labels = MAKERS[str(trial.hparams["model"])]()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.01), named_parameters=model.named_parameters()
    )
    steps = int(str(trial.hparams["steps"]))
    warm_up = min(WARM_UP, steps)
    mark = _marking(str(trial.hparams.get("marks", "")))
    for step in range(1, warm_up + steps + 1):
        if step == warm_up + 1:
            began = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        torch.autograd.backward(loss)
        optimizer.step()
        if step % EVERY == 0:
            trial.report(step, loss=loss.item())
        trial.should_stop()
        mark()
    rate = steps * len(labels) * hvd.size() / (time.monotonic() - began)
    if hvd.rank() == 0:
        trial.validate(warm_up + steps, samples_per_s=rate)
        print(f"samples_per_s={rate}", flush=True)


def _marking(marks: str) -> Callable[[], None]:
    """What says that a step has ended, for a benchmark that asks: rank 0's times go to this file, each rank's pid to one beside it."""
    if not marks:
        return lambda: None
    Path(f"{marks}.{hvd.rank()}.pid").write_text(str(os.getpid()))
    if hvd.rank():
        return lambda: None
    file = os.open(marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    return lambda: _write_time(file)


def _write_time(file: int) -> None:
    os.write(file, struct.pack("<Q", time.monotonic_ns()))


if __name__ == "__main__":
    main()
