"""Handwritten digits with `muster.torch.Trainer`: `python train.py`, or `muster experiment create config.yaml`."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

import muster
from muster.torch import Trainer, epochs


def train_step(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def validate_step(model, batch):
    images, labels = batch
    return {"accuracy": (model(images).argmax(1) == labels).float().mean()}


trial = muster.trial({"lr": 0.003, "width": 64, "batch_size": 64, "epochs": 5})
hp = trial.hparams
torch.manual_seed(trial.seed)

pixels, labels = load_digits(return_X_y=True)
digits = TensorDataset(torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(labels))
train, validation = random_split(digits, [1497, 300], torch.Generator().manual_seed(0))

model = nn.Sequential(nn.Linear(64, hp["width"]), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hp["width"], 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=hp["lr"])

Trainer(trial, model, optimizer, train_step, validate_step).fit(
    DataLoader(train, hp["batch_size"], shuffle=True),
    DataLoader(validation, 100),
    until=epochs(hp["epochs"]),
)
