"""The replayed models are what was measured: rows of the files come out again, and the noise explains the progress."""

import csv
from pathlib import Path

import pytest

from simulator.workloads.profiles import EPOCHS, Profile, load_profile
from simulator.workloads.published import MODELS


def profile(name: str) -> Profile:
    return load_profile(MODELS / name)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("name", sorted(EPOCHS))
def test_measured_placements_come_out_as_measured(name: str) -> None:
    for row in rows(MODELS / name / "placements.csv")[::7]:
        spread = tuple(int(digit) for digit in row["placement"])
        found = profile(name).step(spread, float(row["local_bsz"]))
        assert found == pytest.approx((float(row["step_time"]), float(row["sync_time"])))


@pytest.mark.parametrize("name", sorted(EPOCHS))
def test_measured_sizes_of_many_machines_come_out_as_measured(name: str) -> None:
    for row in rows(MODELS / name / "scalability.csv")[::7]:
        machines, slots = int(row["num_nodes"]), int(row["num_replicas"])
        spread = tuple(slots // machines + (index < slots % machines) for index in range(machines))
        found = profile(name).step(spread, float(row["local_bsz"]))
        assert found == pytest.approx((float(row["step_time"]), float(row["sync_time"])))


def test_a_placement_is_equal_to_its_rotations() -> None:
    bert = profile("bert")
    assert bert.step((1, 2, 3), 9) == bert.step((2, 3, 1), 9) == bert.step((3, 1, 2), 9)


def test_between_two_measured_batches_the_time_is_between() -> None:
    bert = profile("bert")
    low, middle, high = (bert.step((2,), size)[0] for size in (6, 7, 8))
    assert middle == pytest.approx((low + high) / 2)


def test_between_measured_sizes_the_time_is_between() -> None:
    imagenet = profile("imagenet")
    six, seven, eight = (imagenet.step((4,) * machines, 40)[0] for machines in (6, 7, 8))
    assert seven == pytest.approx((six + eight) / 2)


@pytest.mark.parametrize("name", sorted(EPOCHS))
def test_progress_by_gradient_noise_is_the_progress_that_was_measured(name: str) -> None:
    model, epochs = profile(name), EPOCHS[name]
    for path in (MODELS / name).glob("validation-*.csv"):
        batch, steps, progress = int(path.stem.split("-")[1]), 0, 0.0
        measured = rows(path)[:epochs]
        for epoch, row in enumerate(measured):
            progress += (int(float(row["iteration"])) - steps) * model.gain(batch, epoch)
            steps = int(float(row["iteration"]))
        assert progress == pytest.approx(float(measured[-1]["progress"]), rel=0.04)


def test_noise_is_interpolated_between_batch_sizes() -> None:
    cifar = profile("cifar10")
    low, middle, high = (cifar.noise(batch, 3)[0] for batch in (128, 192, 256))
    assert middle == pytest.approx((low + high) / 2)
