"""The progress of a published job, with the batch size that its user chose or one that follows its allocation."""

from bisect import bisect_right
from dataclasses import dataclass

from services.scheduler.core.state.indexes.elastic.goodput import (
    BatchLimits,
    BatchSplit,
    GradientNoise,
    split_batch,
)
from services.scheduler.core.state.indexes.elastic.throughput import Timing
from simulator.trials import Spread, TrainingPace
from simulator.workloads.profiles import Profile
from simulator.workloads.published import SLOTS_PER_MACHINE, Job


def limits_of(profile: Profile) -> BatchLimits:
    """Return the batch sizes that a model allows."""
    return BatchLimits(profile.first_batch, profile.last_batch, profile.least_per_slot, profile.most_per_slot)


def pace(profile: Profile, spread: Spread, batch: BatchSplit, progress: float) -> TrainingPace:
    """Return how fast a model trains from `progress` on, valid until the end of the epoch, where its gradient
    changes."""
    epoch = _epoch(profile, progress)
    step_s, sync_s = profile.step(spread, batch.per_slot)
    seconds = step_s + (batch.rounds - 1) * (step_s - sync_s)
    gain = profile.gain(_total(profile, spread, batch), epoch)
    return TrainingPace(gain / seconds / 1000, profile.marks[epoch])


def measured(
    profile: Profile, spread: Spread, batch: BatchSplit, progress: float
) -> tuple[Timing, GradientNoise]:
    """Return what a job can report in this configuration; it measures nothing else."""
    step_s, sync_s = profile.step(spread, batch.per_slot)
    noise = GradientNoise(*profile.noise(_total(profile, spread, batch), _epoch(profile, progress)))
    return Timing(len(spread), sum(spread), batch.per_slot, step_s, step_s - sync_s), noise


@dataclass(frozen=True, slots=True)
class AskedWork:
    """A job with the batch size that its user requested, whatever its slots."""

    job: Job

    @property
    def total(self) -> float:
        return self.job.profile.marks[-1]

    def pace(self, spread: Spread, progress: float) -> TrainingPace:
        profile = self.job.profile
        batch = split_batch(self.job.batch, sum(spread), limits_of(profile))
        return pace(profile, spread, batch, progress)


def alone_ms(job: Job) -> float:
    """Return how long a job trains with the requested slots and batch size, on as few machines as possible."""
    whole, rest = divmod(job.slots, SLOTS_PER_MACHINE)
    spread = (SLOTS_PER_MACHINE,) * whole + ((rest,) if rest else ())
    work, progress, spent_ms = AskedWork(job), 0.0, 0.0
    while progress < work.total:
        now = work.pace(spread, progress)
        spent_ms += (now.until - progress) / now.per_ms
        progress = now.until
    return spent_ms


def _epoch(profile: Profile, progress: float) -> int:
    return min(bisect_right(profile.marks, progress), len(profile.marks) - 1)


def _total(profile: Profile, spread: Spread, batch: BatchSplit) -> int:
    """Return the total batch, clamped to the validated sizes."""
    return min(max(batch.total(sum(spread)), profile.first_batch), profile.last_batch)
