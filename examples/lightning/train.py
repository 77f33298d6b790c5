"""Handwritten digits with PyTorch Lightning: `python train.py`, or `muster experiment create config.yaml`."""

import lightning as L
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

import muster
import muster.lightning


class Digits(L.LightningModule):
    def __init__(self, lr, width):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))

    def training_step(self, batch):
        images, labels = batch
        loss = F.cross_entropy(self.net(images), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch):
        images, labels = batch
        self.log("accuracy", (self.net(images).argmax(1) == labels).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


trial = muster.trial({"lr": 0.003, "width": 64, "batch_size": 64, "epochs": 5})
hp = trial.hparams
L.seed_everything(trial.seed)

pixels, labels = load_digits(return_X_y=True)
digits = TensorDataset(torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(labels))
train, validation = random_split(digits, [1497, 300], torch.Generator().manual_seed(0))

trainer = L.Trainer(max_epochs=hp["epochs"], log_every_n_steps=10, **muster.lightning.arguments(trial))
trainer.fit(
    Digits(hp["lr"], hp["width"]),
    DataLoader(train, hp["batch_size"] // trial.size, shuffle=True),
    DataLoader(validation, 100),
    ckpt_path=muster.lightning.latest(trial),
)
