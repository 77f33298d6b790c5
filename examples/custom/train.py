"""Train a linear classifier of handwritten digits epoch by epoch; it resumes from its checkpoint after a pause."""

import numpy as np
from sklearn.datasets import load_digits

import muster

DEFAULTS = {"lr": 0.1, "batch": 32, "epochs": 8}


def main():
    trial = muster.trial(DEFAULTS)
    hp = trial.hparams
    images, labels = load_digits(return_X_y=True)
    images, targets = images / 16, np.eye(10)[labels]
    weights, epoch = np.zeros((64, 10)), 0
    if trial.latest_checkpoint:
        weights = np.load(trial.latest_checkpoint / "weights.npy")
        epoch = int((trial.latest_checkpoint / "epoch").read_text())
    while epoch < hp["epochs"]:
        epoch += 1
        for chosen in np.array_split(
            np.random.default_rng([trial.seed, epoch]).permutation(1200), 1200 // hp["batch"]
        ):
            scores = np.exp(images[chosen] @ weights)
            error = scores / scores.sum(1, keepdims=True) - targets[chosen]
            weights -= hp["lr"] * images[chosen].T @ error / len(chosen)
        guessed = (images[1200:] @ weights).argmax(1)
        trial.validate(epoch, epochs=epoch, accuracy=float((guessed == labels[1200:]).mean()))
        if (stops := trial.should_stop()) or epoch == hp["epochs"]:
            with trial.checkpoint(epoch) as directory:
                np.save(directory / "weights.npy", weights)
                (directory / "epoch").write_text(str(epoch))
        if stops:
            return


if __name__ == "__main__":
    main()
