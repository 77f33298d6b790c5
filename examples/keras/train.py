"""Handwritten digits with Keras 3 on PyTorch: `python train.py`, or `muster experiment create config.yaml`."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
from sklearn.datasets import load_digits

import muster
import muster.keras

trial = muster.trial({"lr": 0.003, "width": 64, "batch_size": 64, "epochs": 5})
hp = trial.hparams
keras.utils.set_random_seed(trial.seed)

pixels, labels = load_digits(return_X_y=True)
pixels = pixels.astype("float32") / 16
mine = slice(trial.rank, 1496, trial.size)  # this rank's share, of equal size on each rank

model = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(hp["width"], "relu"), keras.layers.Dense(10)]
)
model.compile(
    optimizer=muster.keras.distribute(trial, keras.optimizers.AdamW(hp["lr"])),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    pixels[mine],
    labels[mine],
    batch_size=hp["batch_size"] // trial.size,
    epochs=hp["epochs"],
    validation_data=(pixels[1497:], labels[1497:]),
    callbacks=[muster.keras.MusterCallback(trial)],
    verbose=0,
)
