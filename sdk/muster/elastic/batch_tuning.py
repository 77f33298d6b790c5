"""The part of `muster.elastic` that sees a training: it times steps, measures gradients, and tells the platform."""

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
    """Measures how a training speeds up with its batch, and chooses the batch size for the slots that it has now.

        elastic = muster.elastic.Elastic(trial, model.parameters(), batch_size=64, max_batch_size=1024)
        elastic.load_state_dict(...)              # from the checkpoint, where there is one
        per_rank = elastic.choose_batch()         # at the start, and wherever the script can change it, such as at an epoch's end
        ...
        loss.backward(); optimizer.step()
        elastic.after_step()                      # every rank, before zero_grad()

    One step in twenty measures the gradient: with several ranks each rank's own (by hooks, before Horovod averages them) and the average of all,
    one number more to exchange; with one rank the gradients of two steps that follow each other, as AdaptDL does. One backward pass a step; gradients
    that were clipped or scaled (`torch.amp.GradScaler`) before `after_step` cannot be compared and should not be.

    Attributes:
        per_rank: The samples of each rank in a step.
        gain: What a step teaches now, in steps of `batch_size`: AdaScale's factor for the learning rate of SGD (its root for Adam).
        noise: What is known of the gradient.
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
        """Begins with `batch_size`.

        Args:
            batch_size: The total batch size that the script was written for; smaller ones are not used.
            max_batch_size: The largest total one that still trains well.
            per_rank: The fewest samples on a rank that are worth a step, and the most that fit; by default anything.

        Raises:
            Rejected: The sizes contradict each other.
        """
        least, most = per_rank or (1, max_batch_size)
        if not 1 <= batch_size <= max_batch_size or not 1 <= least <= most:
            text = f"batch sizes from {batch_size} to {max_batch_size} with {least} to {most} on a rank are no range"
            raise Rejected("batch_range", text, place="batch_size")
        self.noise = NoiseScale()
        self._trial = trial
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._limits = BatchLimits(batch_size, max_batch_size, least, most)
        self.per_rank = split(batch_size, trial.size, self._limits)
        self._step_s: dict[int, dict[int, float]] = {}
        self._seconds: deque[float] = deque(maxlen=STEPS_TIMED)
        self._ended_at: float | None = None
        self._told_at = 0.0
        self._steps = 0
        self._before: list[torch.Tensor] = []
        self._own = _OwnGradient(self._parameters)

    @property
    def batch_size(self) -> int:
        """The samples of all ranks in a step."""
        return self.per_rank * self._trial.size

    @property
    def gain(self) -> float:
        return self.noise.gain(self.batch_size, self._limits.first)

    def choose_batch(self) -> int:
        """Chooses anew the samples of each rank, from what was measured; every rank calls it and gets the same number.

        It is what `batches.choose_per_rank` finds, at most twice of what was tried.
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
        """The trial has another number of ranks: the samples of each follow; what steps took is learnt anew."""
        known = self._step_s.get(self._trial.size)
        self.per_rank = max(known) if known else split(self._limits.first, self._trial.size, self._limits)
        self._own.take()
        self._steps = 0
        self._forget_steps()

    def after_step(self) -> None:
        """A step of the optimizer is done and its gradient still there. Collective: every rank calls it equally often.

        Raises:
            Rejected: There are no gradients: `zero_grad` came before.
        """
        now = time.monotonic()
        if self._ended_at is not None:
            self._seconds.append(now - self._ended_at)
        self._steps += 1
        if self._trial.size > 1:
            self._compare_ranks()
        else:
            self._compare_steps()
        if self._trial.rank == 0 and now - self._told_at >= REPORT_EVERY_S:
            self._tell(now)
        self._ended_at = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        """What has been learnt, to be kept in a checkpoint: plain numbers."""
        noise = [self.noise.weighed_sqr, self.noise.weighed_var, self.noise.count]
        times = {ranks: dict(times) for ranks, times in self._step_s.items()}
        return {"noise": noise, "step_s": times, "per_rank": {self._trial.size: self.per_rank}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on with what was learnt, with the same number of ranks or another."""
        sqr, var, count = state["noise"]
        self.noise = NoiseScale(float(sqr), float(var), int(count))
        self._step_s = {
            int(ranks): {int(m): float(seconds) for m, seconds in times.items()}
            for ranks, times in state["step_s"].items()
        }
        self.per_rank = int(state["per_rank"].get(self._trial.size, self.per_rank))
        self._forget_steps()

    def _compare_ranks(self) -> None:
        """The ranks' own gradients against their average."""
        gang = self._trial._gang
        assert gang is not None
        own = self._own.take()
        if own is not None:
            small = gang.mean("elastic.norm", own)
            self.noise.add(small, self.per_rank, _squared(self._gradients()), self.batch_size)
        if self._steps % MEASURE_EVERY == MEASURE_EVERY - 1:
            self._own.watch()

    def _compare_steps(self) -> None:
        """The gradients of two steps against their average: (|g1|² + |g2|²) / 2 against |(g1 + g2) / 2|²."""
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
                "there are no gradients to measure",
                hint="call elastic.after_step() after optimizer.step() and before optimizer.zero_grad()",
            )
        return found

    def _tell(self, now: float) -> None:
        channel = self._trial._channel
        if channel is None or not self.noise.is_known or len(self._seconds) < LEAST_STEPS:
            return
        self._told_at = now
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
    """The squared norm of this rank's own gradient in one step, seen before Horovod averages it in place."""

    def __init__(self, parameters: "list[torch.Tensor]") -> None:
        self._parameters = parameters
        self._hooks: list[Any] = []
        self._norms: list[torch.Tensor] = []
        self._seen: set[int] = set()

    def watch(self) -> None:
        """Looks at the next backward pass. Without it there is no hook, and no cost."""
        self._norms, self._seen = [], set()
        for number, one in enumerate(self._parameters):
            self._hooks.append(one.register_hook(self._hook(number)))  # type: ignore[no-untyped-call]

    def take(self) -> float | None:
        """What was seen; None: nothing was watched; NaN: there was not just one backward pass, so nothing follows from it."""
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
    """As one row, in single precision at least: half of it does not hold sums of squares."""
    found = gradient.detach()
    found = found.coalesce().to_dense() if found.is_sparse else found
    return (found if found.element_size() >= 4 else found.float()).reshape(-1)


def _squared(gradients: "list[torch.Tensor]") -> float:
    return sum(float(gradient.dot(gradient)) for gradient in gradients)
