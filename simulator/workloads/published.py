"""The workloads of the Pollux study (`pollux/README.md`): 160 jobs each, for 16 machines of 4 GPUs."""

import csv
from dataclasses import dataclass
from pathlib import Path

from simulator.workloads.profiles import Profile, load_profile

FOLDER = Path(__file__).parent / "pollux"
MODELS = FOLDER / "models"
MACHINES, SLOTS_PER_MACHINE = 16, 4
RESTART_MS = 30_000
"""What each change of an allocation costs a job, its first start included."""


@dataclass(frozen=True, slots=True)
class Job:
    """A line of a workload: who trains what since when, and the slots and batch size that a careful user asked for."""

    name: str
    arrives_ms: int
    profile: Profile
    slots: int
    batch: int


def read_jobs(path: Path) -> list[Job]:
    """The jobs of a file, in order of arrival."""
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
    """The published files, in order."""
    return sorted(FOLDER.glob("workload-*.csv"))
