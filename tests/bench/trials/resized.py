"""A training that may be resized: each step of rank 0 is a line of the diary (time, process, ranks, number, loss); its time follows the samples."""

import os
import sys
import time

import torch

import muster
import muster.elastic

trial = muster.trial()
sample_s = float(str(trial.hparams["sample_s"]))
SAMPLES, FEATURES = 32, 64
torch.manual_seed(trial.seed)
model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
training = muster.elastic.Training(trial, model, optimizer, batch_size=SAMPLES)
inputs = torch.randn(SAMPLES, FEATURES)
targets = inputs[:, :4].sum(1, keepdim=True)
with open(str(trial.hparams["diary"]), "a", buffering=1) as diary:
    for step in training.steps(1_000_000):
        with step:
            mine = slice(trial.rank * step.samples, (trial.rank + 1) * step.samples)
            optimizer.zero_grad()
            ((model(inputs[mine]) - targets[mine]) ** 2).mean().backward()
            optimizer.step()
            time.sleep(step.samples * sample_s)
            if trial.rank == 0:
                loss = ((model(inputs) - targets) ** 2).mean().item()
                print(time.time(), os.getpid(), trial.size, step.number, loss, file=diary)
            trial.report(step.number, loss=0.0)
sys.exit(0)
