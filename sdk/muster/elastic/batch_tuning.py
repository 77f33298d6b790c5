"""Measurement of a training: times steps, measures gradients, and reports to the platform."""

import time
from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from muster import wire
from muster.elastic.batch_size import BatchLimits, choose_per_rank, split
from muster.elastic.gradient_noise import NoiseScale
from muster.errors import Rejected

if TYPE_CHECKING:
    import torch

    from muster import Trial

MEASURE_EVERY = 20
REPORT_EVERY_S = 5.0
STEPS_TIMED = 51
LEAST_STEPS = 5


class Elastic:
    """Measure how a training scales with its batch, and choose the batch size for the current slots.

        elastic = muster.elastic.Elastic(trial, model.parameters(), batch_size=64, max_batch_size=1024)
        elastic.load_state_dict(...)              # from the checkpoint, if there is one
        per_rank = elastic.choose_batch()         # at the start, and whenever the script can change it, such as after an epoch
        ...
        loss.backward(); optimizer.step()
        elastic.after_step()                      # every rank, before zero_grad()

    One step in twenty measures the gradient: with several ranks, each rank's own gradient (by hooks, before Horovod averages) and
    the average of all, which exchanges one more number; with one rank, the gradients of two consecutive steps, as in AdaptDL.
    Use one backward pass per step. Gradients that are clipped or scaled (`torch.amp.GradScaler`) before `after_step` are not
    comparable.

    Attributes:
        per_rank: Samples per rank in a step.
        gain: Gain of a step, in steps of `batch_size`: AdaScale's factor for the learning rate of SGD (its square root for Adam).
        noise: Estimate of the gradient noise scale.
    """

    def __init__(
        self,
        trial: "Trial",
        parameters: "Iterable[torch.Tensor]",
        *,
        batch_size: int,
        max_batch_size: int,
        per_rank: tuple[int, int] | None = None,
    ) -> None:
        """Start with `batch_size`.

        Args:
            trial: The trial.
            parameters: Parameters of the model.
            batch_size: Total batch size that the script was written for; smaller ones are not used.
            max_batch_size: Largest total batch size that trains well.
            per_rank: Smallest and largest batch of a rank; by default no limits.

        Raises:
            Rejected: The sizes contradict each other.
        """
        least, most = per_rank or (1, max_batch_size)
        if not 1 <= batch_size <= max_batch_size or not 1 <= least <= most:
            text = f"batch sizes from {batch_size} to {max_batch_size} with {least} to {most} per rank are not a valid range"
            raise Rejected("batch_range", text, place="batch_size")
        self.noise = NoiseScale()
        self._trial = trial
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._limits = BatchLimits(batch_size, max_batch_size, least, most)
        self.per_rank = split(batch_size, trial.size, self._limits)
        self._step_s: dict[int, dict[int, float]] = {}
        self._seconds: deque[float] = deque(maxlen=STEPS_TIMED)
        self._ended_at: float | None = None
        self._reported_at = 0.0
        self._steps = 0
        self._before: list[torch.Tensor] = []
        self._own = _OwnGradient(self._parameters)

    @property
    def batch_size(self) -> int:
        """Samples of all ranks in a step."""
        return self.per_rank * self._trial.size

    @property
    def gain(self) -> float:
        return self.noise.gain(self.batch_size, self._limits.first)

    def choose_batch(self) -> int:
        """Choose the samples per rank from the measurements; every rank calls it and gets the same number.

        Uses `batches.choose_per_rank`, with at most twice the largest batch tried.
        """
        times = self._step_s.setdefault(self._trial.size, {})
        if len(self._seconds) >= LEAST_STEPS:
            times[self.per_rank] = median(self._seconds)
        chosen = choose_per_rank(self.noise, self._limits, self._trial.size, times)
        gang = self._trial._gang
        chosen = gang.number("elastic.batch", chosen) if gang else chosen
        if chosen != self.per_rank:
            self.per_rank = chosen
            self._forget_steps()
        return chosen

    def on_resized(self) -> None:
        """Adapt to a new number of ranks: reset the samples per rank and the step times."""
        known = self._step_s.get(self._trial.size)
        self.per_rank = max(known) if known else split(self._limits.first, self._trial.size, self._limits)
        self._own.take()
        self._steps = 0
        self._forget_steps()

    def after_step(self) -> None:
        """Record a step after `optimizer.step()`, while gradients exist. Collective: every rank calls it equally often.

        Raises:
            Rejected: There are no gradients: `zero_grad` was called before.
        """
        now = time.monotonic()
        if self._ended_at is not None:
            self._seconds.append(now - self._ended_at)
        self._steps += 1
        if self._trial.size > 1:
            self._compare_ranks()
        else:
            self._compare_steps()
        if self._trial.rank == 0 and now - self._reported_at >= REPORT_EVERY_S:
            self._report(now)
        self._ended_at = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        """Return the measurements for a checkpoint, as plain numbers."""
        noise = [self.noise.weighed_sqr, self.noise.weighed_var, self.noise.count]
        times = {ranks: dict(times) for ranks, times in self._step_s.items()}
        return {"noise": noise, "step_s": times, "per_rank": {self._trial.size: self.per_rank}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume with saved measurements, with the same or another number of ranks."""
        sqr, var, count = state["noise"]
        self.noise = NoiseScale(float(sqr), float(var), int(count))
        self._step_s = {
            int(ranks): {int(m): float(seconds) for m, seconds in times.items()}
            for ranks, times in state["step_s"].items()
        }
        self.per_rank = int(state["per_rank"].get(self._trial.size, self.per_rank))
        self._forget_steps()

    def _compare_ranks(self) -> None:
        """Compare the ranks' own gradients with their average."""
        gang = self._trial._gang
        assert gang is not None
        own = self._own.take()
        if own is not None:
            small = gang.mean("elastic.norm", own)
            self.noise.add(small, self.per_rank, _squared(self._gradients()), self.batch_size)
        if self._steps % MEASURE_EVERY == MEASURE_EVERY - 1:
            self._own.watch()

    def _compare_steps(self) -> None:
        """Compare the gradients of two steps with their average: (|g1|² + |g2|²) / 2 against |(g1 + g2) / 2|²."""
        if self._before:
            now, before, self._before = self._gradients(), self._before, []
            if len(now) == len(before):
                each = (_squared(now) + _squared(before)) / 2
                both = (each + sum(float(a.dot(b)) for a, b in zip(now, before, strict=True))) / 2
                self.noise.add(each, self.per_rank, both, 2 * self.per_rank)
        elif self._steps % MEASURE_EVERY == MEASURE_EVERY - 1:
            self._before = [gradient.clone() for gradient in self._gradients()]

    def _gradients(self) -> "list[torch.Tensor]":
        found = [_flat(one.grad) for one in self._parameters if one.grad is not None]
        if not found:
            raise Rejected(
                "gradients_missing",
                "no gradients to measure",
                hint="call elastic.after_step() after optimizer.step() and before optimizer.zero_grad()",
            )
        return found

    def _report(self, now: float) -> None:
        channel = self._trial._channel
        if channel is None or not self.noise.is_known or len(self._seconds) < LEAST_STEPS:
            return
        self._reported_at = now
        limits, noise = self._limits, self.noise
        channel.measure(
            wire.StepMeasurements(
                step_s=median(self._seconds),
                per_rank=self.per_rank,
                first_batch=limits.first,
                last_batch=limits.last,
                least_per_rank=limits.least_per_rank,
                most_per_rank=limits.most_per_rank,
                grad_sqr=noise.grad_sqr,
                grad_var=noise.grad_var / limits.first,
            )
        )

    def _forget_steps(self) -> None:
        self._seconds.clear()
        self._ended_at = None
        self._before = []


class _OwnGradient:
    """Squared norm of this rank's own gradient in one step, before Horovod averages it in place."""

    def __init__(self, parameters: "list[torch.Tensor]") -> None:
        self._parameters = parameters
        self._hooks: list[Any] = []
        self._norms: list[torch.Tensor] = []
        self._seen: set[int] = set()

    def watch(self) -> None:
        """Measure the next backward pass. Without it there is no hook and no cost."""
        self._norms, self._seen = [], set()
        for number, one in enumerate(self._parameters):
            self._hooks.append(one.register_hook(self._hook(number)))  # type: ignore[no-untyped-call]

    def take(self) -> float | None:
        """Return the measurement; None if nothing was measured; NaN if there was more than one backward pass."""
        if not self._hooks:
            return None
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        was_once = self._norms and len(self._seen) == len(self._norms)
        return sum(float(norm) for norm in self._norms) if was_once else float("nan")

    def _hook(self, number: int) -> Any:
        def look(gradient: "torch.Tensor") -> None:
            self._seen.add(number)
            flat = _flat(gradient)
            self._norms.append(flat.dot(flat))

        return look


def _flat(gradient: "torch.Tensor") -> "torch.Tensor":
    """Flatten, in single precision or better: half precision cannot hold sums of squares."""
    found = gradient.detach()
    found = found.coalesce().to_dense() if found.is_sparse else found
    return (found if found.element_size() >= 4 else found.float()).reshape(-1)


def _squared(gradients: "list[torch.Tensor]") -> float:
    return sum(float(gradient.dot(gradient)) for gradient in gradients)
