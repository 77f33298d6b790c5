"""Two ranks train a small convolutional network on 32 x 32 images by Horovod for a fixed number of steps; prints samples a
second, the warm-up left out. A step takes some 30 ms, as real ones do: with steps of 2 ms two ranks on two cores measure the
machine's scheduler instead, and differ from themselves by a third.

Runs the same under `horovodrun` (alone) and on the platform.
"""

import time

import horovod.torch as hvd
import torch
import torch.nn.functional as F

import muster

BATCH, WARM_UP, EVERY = 32, 20, 10


def main() -> None:
    torch.set_num_threads(1)
    trial = muster.trial({"steps": 200})
    if not hvd.is_initialized():
        hvd.init()
    torch.manual_seed(0)
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
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.01), named_parameters=model.named_parameters()
    )
    images, labels = torch.randn(BATCH, 3, 32, 32), torch.randint(0, 10, (BATCH,))
    steps = int(trial.hparams["steps"])
    for step in range(1, WARM_UP + steps + 1):
        if step == WARM_UP + 1:
            began = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            trial.report(step, loss=loss.item())
        trial.should_stop()
    rate = steps * BATCH * hvd.size() / (time.monotonic() - began)
    if hvd.rank() == 0:
        trial.validate(WARM_UP + steps, samples_per_s=rate)
        print(f"samples_per_s={rate}", flush=True)


if __name__ == "__main__":
    main()
