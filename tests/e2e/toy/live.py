"""A training that can be resized while it trains: each step reports how many ranks took part in it, and which process rank 0 is."""

import os
import time

import torch

import muster
import muster.elastic

trial = muster.trial()
torch.manual_seed(trial.seed)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
training = muster.elastic.Training(trial, model, optimizer, batch_size=4)
for step in training.steps(100_000):
    with step:
        optimizer.zero_grad()
        model(torch.ones(step.samples, 4)).pow(2).mean().backward()
        optimizer.step()
        time.sleep(0.05 * step.samples)
        trial.report(step.number, loss=1.0, ranks=trial.size, pid=os.getpid())
