"""A training that is resized while it trains, though its script says nothing of it: each step reports how many ranks there are, and which process rank 0 is."""

import os
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

import muster
from muster.torch import Trainer, batches


def train_step(model: torch.nn.Module, batch: tuple[torch.Tensor]) -> dict[str, torch.Tensor | float]:
    time.sleep(0.05 * len(batch[0]))
    return {"loss": model(batch[0]).pow(2).mean(), "ranks": trial.size, "pid": os.getpid()}


trial = muster.trial()
torch.manual_seed(trial.seed)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.ones(64, 4)), 4)
Trainer(trial, model, optimizer, train_step).fit(loader, until=batches(100_000), report_every=batches(1))
