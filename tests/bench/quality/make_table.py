"""Trains 1,000 random configurations of a small network on the digits for 81 epochs each: the table that searches are measured on.

`python -m tests.bench.quality.make_table FOLDER [SECONDS]` keeps finished blocks in FOLDER and goes on where it was; when all are there
it writes `table.npz`. The network is 64 pixels, one hidden layer of rectified units with dropout, ten logits; stochastic gradient
descent with momentum and (coupled) weight decay on the cross-entropy, as PyTorch's SGD has it. Written by hand, because a step of
these sizes costs PyTorch several times what its arithmetic takes.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from tests.bench.quality.table import EPOCHS, PATH, RANGES, ROWS, SIZES

SEED, BLOCK = 0, 50
TRAIN = 1197
"""So many of the 1,797 digits train, in an order drawn once; the other 600 validate."""

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Digits:
    """The fixed split: pixels in [0, 1] and labels."""

    train: Floats
    train_labels: Labels
    held: Floats
    held_labels: Labels


def draw_points() -> dict[str, NDArray[np.float64]]:
    """Return the configurations, by hyperparameter; row i is configuration i."""
    generator = np.random.default_rng(SEED)

    def draw(name: str) -> NDArray[np.float64]:
        low, high, is_log = RANGES[name]
        if name == "batch_size":
            return np.asarray(low * 2.0 ** generator.integers(0, SIZES, ROWS))
        if is_log:
            return np.exp(generator.uniform(np.log(low), np.log(high), ROWS))
        return generator.uniform(low, high, ROWS)

    points = {name: draw(name) for name in RANGES}
    return points | {"hidden": np.round(points["hidden"])}


def load_split() -> Digits:
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(labels))
    images = (pixels[order] / 16).astype(np.float32)
    answers = labels[order].astype(np.int64)
    return Digits(images[:TRAIN], answers[:TRAIN], images[TRAIN:], answers[TRAIN:])


class Network:
    """Weights of both layers with their momenta, each in one array."""

    def __init__(self, hidden: int, generator: np.random.Generator) -> None:
        shapes = ((64, hidden), (1, hidden), (hidden, 10), (1, 10))
        bounds = (1 / 8, 1 / 8, hidden**-0.5, hidden**-0.5)
        self.weights = [
            generator.uniform(-bound, bound, shape).astype(np.float32)
            for shape, bound in zip(shapes, bounds, strict=True)
        ]
        self._speeds = [np.zeros_like(weights) for weights in self.weights]

    def step(
        self,
        images: Floats,
        labels: Labels,
        mask: Floats,
        lr: np.float32,
        momentum: np.float32,
        decay: np.float32,
    ) -> None:
        """Descend once; `mask` is 0 where a hidden unit is dropped, else 1 over the part that is kept."""
        first, first_bias, second, second_bias = self.weights
        hidden = np.maximum(images @ first + first_bias, 0) * mask
        logits = hidden @ second + second_bias
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        chances[np.arange(len(labels)), labels] -= 1
        chances /= len(labels)
        back = (chances @ second.T) * mask
        back[hidden <= 0] = 0
        slopes = (
            images.T @ back,
            back.sum(0, keepdims=True),
            hidden.T @ chances,
            chances.sum(0, keepdims=True),
        )
        for weights, speed, slope in zip(self.weights, self._speeds, slopes, strict=True):
            speed *= momentum
            speed += slope + decay * weights
            weights -= lr * speed

    def count_correct(self, images: Floats, labels: Labels) -> int:
        first, first_bias, second, second_bias = self.weights
        logits = np.maximum(images @ first + first_bias, 0) @ second + second_bias
        return int((logits.argmax(1) == labels).sum())

    @property
    def is_finite(self) -> bool:
        return all(bool(np.isfinite(weights).all()) for weights in self.weights)


def train(
    point: dict[str, float], digits: Digits, seed: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return, by epoch, how many of the held digits were right and the microseconds of processor time that the epoch took.

    A network whose weights are no longer finite stays what it is.
    """
    generator = np.random.default_rng((SEED, seed))
    network = Network(int(point["hidden"]), generator)
    lr, momentum, decay = (np.float32(point[name]) for name in ("lr", "momentum", "weight_decay"))
    size, kept = int(point["batch_size"]), 1 - point["dropout"]
    correct, spent = np.zeros(EPOCHS, np.uint16), np.zeros(EPOCHS, np.uint32)
    for epoch in range(EPOCHS):
        began = time.thread_time_ns()
        order = generator.permutation(TRAIN)
        for start in range(0, TRAIN, size):
            batch = order[start : start + size]
            drawn = generator.random((len(batch), int(point["hidden"])), np.float32)
            mask = (drawn < kept) * np.float32(1 / kept)
            network.step(digits.train[batch], digits.train_labels[batch], mask, lr, momentum, decay)
        correct[epoch] = network.count_correct(digits.held, digits.held_labels)
        spent[epoch] = (time.thread_time_ns() - began) // 1000
        if not network.is_finite:
            correct[epoch:], spent[epoch:] = correct[epoch], int(spent[: epoch + 1].mean())
            break
    return correct, spent


def train_block(first: int, points: dict[str, NDArray[np.float64]], digits: Digits, path: Path) -> None:
    rows = range(first, first + BLOCK)
    found = [
        train({name: float(column[row]) for name, column in points.items()}, digits, row) for row in rows
    ]
    np.savez(path, correct=[correct for correct, _ in found], epoch_us=[spent for _, spent in found])


def pack(folder: Path, points: dict[str, NDArray[np.float64]], held: int) -> None:
    blocks = [np.load(folder / f"{first:04}.npz") for first in range(0, ROWS, BLOCK)]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in ("correct", "epoch_us")}
    small = {name: column.astype(np.float32) for name, column in points.items()}
    np.savez_compressed(PATH, allow_pickle=False, held=np.uint16(held), **columns, **small)


def main(folder: Path, seconds: float) -> None:
    points, digits, began = draw_points(), load_split(), time.monotonic()
    for first in range(0, ROWS, BLOCK):
        path = folder / f"{first:04}.npz"
        if path.exists():
            continue
        if time.monotonic() - began > seconds:
            print(f"{first} of {ROWS} are there; run this again")
            return
        train_block(first, points, digits, path)
    pack(folder, points, len(digits.held))
    print(f"written: {PATH.name}, {PATH.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    with threadpool_limits(1), np.errstate(all="ignore"):
        main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 180)
