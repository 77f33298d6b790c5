"""A training that is resized while it trains, though its script says nothing of it: each step reports how many ranks there are, and which process rank 0 is."""

import os
import time

import torch
from torch.utils.data import DataLoader

import muster
from muster.torch import Trainer, batches


def train_step(model, batch):
    time.sleep(0.05 * len(batch))
    return {"loss": model(batch).pow(2).mean(), "ranks": trial.size, "pid": os.getpid()}


trial = muster.trial()
torch.manual_seed(trial.seed)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(torch.ones(64, 4), 4)
Trainer(trial, model, optimizer, train_step).fit(loader, until=batches(100_000), report_every=batches(1))
