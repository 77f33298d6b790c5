"""The workloads of the Pollux study (`pollux/README.md`): 160 jobs each, for 16 machines with 4 GPUs."""

import csv
from dataclasses import dataclass
from pathlib import Path

from simulator.workloads.profiles import Profile, load_profile

FOLDER = Path(__file__).parent / "pollux"
MODELS = FOLDER / "models"
MACHINES, SLOTS_PER_MACHINE = 16, 4
RESTART_MS = 30_000
"""The cost of each change of a job's allocation, including its first start."""


@dataclass(frozen=True, slots=True)
class Job:
    """One line of a workload: user, model, arrival time, and the slots and batch size that a careful user
    requested."""

    name: str
    arrives_ms: int
    profile: Profile
    slots: int
    batch: int


def read_jobs(path: Path) -> list[Job]:
    """Return the jobs of a file, in order of arrival."""
    with path.open(newline="") as lines:
        jobs = [
            Job(
                name=row["name"],
                arrives_ms=int(row["time"]) * 1000,
                profile=load_profile(MODELS / row["application"]),
                slots=int(row["num_replicas"]),
                batch=int(row["batch_size"]),
            )
            for row in csv.DictReader(lines)
        ]
    return sorted(jobs, key=lambda job: job.arrives_ms)


def workloads() -> list[Path]:
    """Return the published files, in order."""
    return sorted(FOLDER.glob("workload-*.csv"))
