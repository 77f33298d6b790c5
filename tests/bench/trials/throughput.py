"""Two ranks train a small network by Horovod for a fixed number of steps; prints samples a second, the warm-up left out.

Runs the same under `horovodrun` (alone) and on the platform.
"""

import time

import horovod.torch as hvd
import torch
import torch.nn.functional as F

import muster

BATCH, WARM_UP, EVERY = 64, 30, 10


def main() -> None:
    torch.set_num_threads(1)
    trial = muster.trial({"steps": 400})
    if not hvd.is_initialized():
        hvd.init()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.01), named_parameters=model.named_parameters()
    )
    images, labels = torch.randn(BATCH, 64), torch.randint(0, 10, (BATCH,))
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
