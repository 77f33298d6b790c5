"""`searcher` of the config: how points are proposed and when trials are stopped."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from muster.config.base_section import refusal, rule
from muster.config.brackets import bracket_sizes
from muster.config.metrics import SearchMetrics
from muster.config.samplers import RANDOM, Sampler
from muster.config.warm_start import WarmStart

MAX_TRIALS = 100_000
MAX_RUNGS = 30

_REFUSED = {
    "source_trial_id": "trials of Determined do not exist here; set `source_checkpoint_uuid` to a checkpoint, or `source_model` to a model",
}


class _Common(SearchMetrics):
    """Keys of every searcher.

    Attributes:
        source_checkpoint_uuid: Checkpoint from which every trial starts.
        source_model: Registered model from which every trial starts, as `name@version`: a number, an alias or `latest`. It is
            resolved once, when the experiment is submitted, to a version number and a checkpoint.
    """

    refused: ClassVar[Mapping[str, str]] = _REFUSED

    source_checkpoint_uuid: str | None = Field(
        default=None, pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
    )
    source_model: str | None = Field(default=None, pattern=r"^[^@]+(@[^@]+)?$", max_length=256)


class _Many(_Common):
    """Keys of every searcher with more than one trial.

    Attributes:
        max_concurrent_trials: Maximum number of open trials; 0 means no limit.
        widen_to: Maximum number of concurrent trials while slots of the pool are idle and no other trial waits.
        widen_max_price: `widen_to` applies only while a slot of the pool costs at most this much per hour; slots without a
            price are free.
    """

    max_concurrent_trials: int = Field(default=16, ge=0, le=MAX_TRIALS)
    widen_to: int | None = Field(default=None, ge=1, le=MAX_TRIALS)
    widen_max_price: float | None = Field(default=None, ge=0)

    @rule
    def _widens(self) -> None:
        if self.widen_to is not None and self.widen_to < self.max_concurrent_trials:
            raise refusal(
                f"widen_to ({self.widen_to}) must be at least max_concurrent_trials ({self.max_concurrent_trials})",
                "widen_to",
                hint="widen_to is the maximum number of concurrent trials while slots are idle",
            )


class Single(_Common):
    """One trial. A hyperparameter with a range gets one random value, drawn with `reproducibility.experiment_seed`."""

    name: Literal["single"]


class _Sampled(_Many):
    """Keys of every searcher that samples points.

    Attributes:
        sampler: How points are proposed.
        warm_start: Prior observations: points to try first, and earlier experiments to learn from.
    """

    sampler: Sampler = RANDOM
    warm_start: WarmStart | None = None

    @rule
    def _has_room_for_points(self) -> None:
        points, trials = (
            len(self.warm_start.points) if self.warm_start else 0,
            getattr(self, "max_trials", None),
        )
        if trials is not None and points > trials:
            raise refusal(
                f"{points} points need at least as many trials, but max_trials is {trials}",
                "warm_start", "points",
            )  # fmt: skip

    @rule
    def _sampler_serves(self) -> None:
        self.sampler.check_serves(metrics=len(self.aims), limited=bool(self.limits))


class Random(_Sampled):
    """Train `max_trials` points to completion; points are random, or proposed by `sampler`."""

    name: Literal["random"]
    max_trials: int = Field(ge=1, le=MAX_TRIALS)


class Grid(_Many):
    """Train every combination of the hyperparameters' values."""

    name: Literal["grid"]


class Timed(_Sampled):
    """Keys of the searchers that compare trials while they train.

    Attributes:
        time_metric: Metric that measures how far a trial has trained: `step`, or a reported metric such as `epochs`.
        max_time: Length of a complete trial, in units of `time_metric`.
    """

    time_metric: str = Field(min_length=1, max_length=256)
    max_time: int = Field(ge=1, le=2**53)

    @rule
    def _compares_in_time(self) -> None:
        if self.time_metric in [aim.name for aim in self.aims]:
            raise refusal(
                f"time_metric '{self.time_metric}' is also a metric that ranks trials", "time_metric",
                hint="it measures how far a trial has trained: use step, or a metric such as epochs",
            )  # fmt: skip
        for key in ("interval", "grace_time"):
            if (value := getattr(self, key, 0)) > self.max_time:
                raise refusal(
                    f"{key} ({value}) must be at most max_time ({self.max_time})", key,
                    hint="trials would end before they are compared",
                )  # fmt: skip


class _Asha(Timed):
    max_trials: int = Field(ge=1, le=MAX_TRIALS)
    divisor: float = Field(default=4, gt=1, le=1024)
    stop_once: bool = True


class AsyncHalving(_Asha):
    """ASHA with one bracket of `num_rungs` rungs; trials below the top 1/divisor of a rung are stopped."""

    name: Literal["async_halving"]
    num_rungs: int = Field(ge=1, le=MAX_RUNGS)

    @rule
    def _has_time_for_rungs(self) -> None:
        _check_rungs(self.num_rungs, self.max_time, "num_rungs")


class AdaptiveAsha(_Asha):
    """Several ASHA brackets of different depth, chosen by `mode` or listed in `bracket_rungs`."""

    name: Literal["adaptive_asha"]
    mode: Literal["aggressive", "standard", "conservative"] = "standard"
    max_rungs: int = Field(default=5, ge=1, le=MAX_RUNGS)
    bracket_rungs: tuple[Annotated[int, Field(ge=1, le=MAX_RUNGS)], ...] = Field(
        default=(), max_length=MAX_RUNGS, strict=False
    )

    @rule
    def _has_time_for_rungs(self) -> None:
        for index, rungs in enumerate(self.bracket_rungs):
            _check_rungs(rungs, self.max_time, "bracket_rungs", index)


def _check_rungs(rungs: int, max_time: int, *at: str | int) -> None:
    """Each rung needs its own whole unit of time."""
    if rungs > max_time:
        raise refusal(
            f"max_time ({max_time}) is too short for {rungs} rungs", *at,
            hint="use fewer rungs, or a finer time metric, such as steps instead of epochs",
        )  # fmt: skip


class MedianStopping(Timed):
    """Stop a trial whose best result is worse than the median of the other trials' running averages (Vizier's rule).

    Attributes:
        grace_time: Minimum time of a trial before it can be stopped; by default a quarter of `max_time`.
        interval: Time between comparisons, in units of `time_metric`; by default a twentieth of `max_time`, at least 1.
        min_trials: Number of other trials that must have trained as long; by default 3, or all if there are fewer.
    """

    name: Literal["median_stopping"]
    max_trials: int = Field(ge=1, le=MAX_TRIALS)
    grace_time: int = Field(default_factory=lambda given: -(-given["max_time"] // 4), ge=0, le=2**53)
    interval: int = Field(default_factory=lambda given: max(1, given["max_time"] // 20), ge=1, le=2**53)
    min_trials: int = Field(
        default_factory=lambda given: max(1, min(3, given["max_trials"] - 1)), ge=1, le=MAX_TRIALS
    )

    @rule
    def _has_others(self) -> None:
        if self.min_trials > max(1, self.max_trials - 1):
            raise refusal(
                f"min_trials ({self.min_trials}) must be below max_trials ({self.max_trials})", "min_trials",
                hint="no trial could be stopped: it is compared with at least min_trials others",
            )  # fmt: skip


class Hyperband(Timed):
    """Synchronous successive halving in brackets, from many short trials to few long ones; `max_time` determines all sizes.

    Attributes:
        min_time: Minimum time of a trial. There are about log(max_time / min_time) brackets, to the base `divisor`.
        divisor: At each rung, one in this many trials continues, for this many times as long.
    """

    name: Literal["hyperband"]
    min_time: int = Field(default=1, ge=1, le=2**53)
    divisor: float = Field(default=3, gt=1, le=1024)

    @rule
    def _is_a_range(self) -> None:
        if self.min_time > self.max_time:
            raise refusal(
                f"min_time ({self.min_time}) must be at most max_time ({self.max_time})", "min_time"
            )
        sizes = bracket_sizes(self.max_time, self.min_time, self.divisor)
        if (trials := sum(bracket[0] for bracket in sizes)) > MAX_TRIALS:
            raise refusal(
                f"these brackets create {trials} trials, more than {MAX_TRIALS}",
                "min_time",
                hint="raise min_time to the shortest time after which trials differ",
            )


class Pbt(Timed):
    """Population-based training: at every `interval`, copies of the best trials with changed hyperparameters replace the worst trials.

    Attributes:
        population_size: Number of trials that train concurrently, or alternately if there are fewer slots.
        interval: Time between replacements, in units of `time_metric`; by default a tenth of `max_time`, at least 1.
        truncate_fraction: Share of trials that are replaced, and share of trials that are copied.
        resample_probability: Probability that a hyperparameter of a copy is sampled again; otherwise a number is perturbed.
        perturb_factor: Relative perturbation: numbers are multiplied by 1 plus or minus this factor.
        keep: Hyperparameters that copies do not change, by their paths, such as the width of a network.
    """

    refused: ClassVar[Mapping[str, str]] = _REFUSED | {
        "max_trials": "set `population_size`; the number of copies depends on the results",
    }

    name: Literal["pbt"]
    population_size: int = Field(ge=2, le=1000)
    interval: int = Field(default_factory=lambda given: max(1, given["max_time"] // 10), ge=1, le=2**53)
    truncate_fraction: float = Field(default=0.2, gt=0, le=0.5)
    resample_probability: float = Field(default=0.2, ge=0, le=1)
    perturb_factor: float = Field(default=0.2, gt=0, lt=1)
    keep: tuple[Annotated[str, Field(min_length=1, max_length=256)], ...] = Field(
        default=(), max_length=256, strict=False
    )


class Custom(_Many):
    """Your own program drives the search: it creates trials, sets how long each trains, and ends the search.

    Attributes:
        time_metric: Unit in which your program sets the length of trials; `step` is the step itself.
        undecided: Behavior of a trial that reaches the set length before the program decides: `park` saves and releases its
            slots; `train` continues training.
        driver_timeout: Seconds without a request of the program or any other event after which the search ends with its best
            result; null disables the timeout.
        sampler: Proposes points for trials that are created without hyperparameters.
    """

    name: Literal["custom"]
    time_metric: str = Field(default="step", min_length=1, max_length=256)
    undecided: Literal["park", "train"] = "park"
    driver_timeout: int | None = Field(default=86_400, ge=1, le=2**31)
    sampler: Sampler = RANDOM
