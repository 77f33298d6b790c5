"""Recognise handwritten digits (8 x 8 pixels) with a small convolutional network.

Alone: `python train.py`, with the defaults below or `--hparams '{"lr": 0.01}'`.
As a search on the platform: `muster experiment create adaptive_asha.yaml`, or `pbt.yaml`.
"""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

import muster

PARTS = {"train": slice(0, 1197), "validation": slice(1197, 1497), "test": slice(1497, 1797)}
DEFAULTS = {"lr": 0.003, "width": 16, "dropout": 0.2, "batch_size": 64, "weight_decay": 1e-4, "epochs": 12}


class Net(nn.Module):
    """Three convolutions and a linear layer: 8 x 8 grey pixels to ten logits."""

    def __init__(self, width, dropout):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Dropout(dropout), nn.Linear(32 * width, 10),
        )  # fmt: skip

    def forward(self, images):
        return self.layers(images)


def digits(part):
    """Return images (n, 1, 8, 8) in [0, 1] and labels (n,) of "train", "validation" or "test"."""
    pixels, labels = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(labels))[PARTS[part]]
    images = torch.tensor(pixels[chosen] / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    return images, torch.tensor(labels[chosen])


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    return (model(images).argmax(1) == labels).float().mean().item()


def restored(trial, model, optimizer):
    """Load the latest checkpoint; return the number of epochs trained so far."""
    state = torch.load(trial.latest_checkpoint / "state.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    # In population-based training, a copy has other hyperparameters than its checkpoint.
    for group in optimizer.param_groups:
        group.update(lr=trial.hparams["lr"], weight_decay=trial.hparams["weight_decay"])
    return state["epoch"]


def main():
    torch.set_num_threads(1)
    trial = muster.trial(DEFAULTS)  # an experiment's hyperparameters override the defaults
    hp = trial.hparams
    torch.manual_seed(trial.seed)

    device = "cuda" if torch.cuda.is_available() else "cpu"  # the trial's GPU, if its slot is one
    images, labels, held_images, held_labels = (
        part.to(device) for name in ("train", "validation") for part in digits(name)
    )
    model = Net(hp["width"], hp["dropout"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp["lr"], weight_decay=hp["weight_decay"])

    parameters = sum(part.numel() for part in model.parameters())

    epoch = restored(trial, model, optimizer) if trial.latest_checkpoint else 0
    if trial.size > 1:
        import horovod.torch as hvd  # initialised by muster.trial()

        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    steps_per_epoch = len(images) // hp["batch_size"]
    while epoch < hp["epochs"]:
        model.train()
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(trial.seed + epoch))
        for i in range(steps_per_epoch):
            batch = order[i * hp["batch_size"] : (i + 1) * hp["batch_size"]][trial.rank :: trial.size]
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if (i + 1) % 6 == 0:
                trial.report(epoch * steps_per_epoch + i + 1, loss=loss.item())

        epoch += 1
        step = epoch * steps_per_epoch
        reached = accuracy(model, held_images, held_labels)
        trial.validate(step, accuracy=reached, epochs=epoch, parameters=parameters)
        with trial.checkpoint(step) as directory:
            if trial.rank == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**state, "epoch": epoch, "hparams": dict(hp)}, directory / "state.pt")
        if trial.should_stop():
            break


if __name__ == "__main__":
    main()
