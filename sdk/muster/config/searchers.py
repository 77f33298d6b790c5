"""`searcher` of the config: how points are proposed and trials are stopped."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from muster.config.brackets import bracket_sizes
from muster.config.metrics import SearchMetrics
from muster.config.samplers import RANDOM, Sampler
from muster.config.section import refusal, rule
from muster.config.warm_start import WarmStart

MAX_TRIALS = 100_000
MAX_RUNGS = 30

_REFUSED = {
    "source_trial_id": "trials of Determined are not here; name a checkpoint with `source_checkpoint_uuid`, or a model with `source_model`",
}


class _Common(SearchMetrics):
    """Keys of every searcher.

    Attributes:
        source_checkpoint_uuid: The checkpoint from which every trial starts.
        source_model: In its place a registered model, as `name@version`: a number, an alias or `latest`. It is looked up once, when the
            experiment is submitted, and kept as the number and the checkpoint that it was then.
    """

    refused: ClassVar[Mapping[str, str]] = _REFUSED

    source_checkpoint_uuid: str | None = Field(
        default=None, pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
    )
    source_model: str | None = Field(default=None, pattern=r"^[^@]+(@[^@]+)?$", max_length=256)


class _Many(_Common):
    """Keys of every searcher with more than one trial; 0 concurrent trials means as many as there are.

    Attributes:
        widen_to: While slots of the pool stand idle and nobody waits, up to so many trials at once.
        widen_max_price: `widen_to` holds only while a slot of the pool costs at most so much for an hour; slots without a price are free.
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
                hint="it says up to how many trials run at once while slots stand idle",
            )


class Single(_Common):
    """One trial. A hyperparameter with a range gets one value, drawn at random by `reproducibility.experiment_seed`."""

    name: Literal["single"]


class _Sampled(_Many):
    """Keys of every searcher that asks for points.

    Attributes:
        warm_start: What is known before the first trial: points to try first, earlier experiments to learn from.
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
                f"{points} points are more than the {trials} trials of max_trials",
                "warm_start", "points",
            )  # fmt: skip

    @rule
    def _sampler_serves(self) -> None:
        self.sampler.check_serves(metrics=len(self.aims), limited=bool(self.limits))


class Random(_Sampled):
    """`max_trials` points, each run to its end; drawn at random, or as `sampler` proposes."""

    name: Literal["random"]
    max_trials: int = Field(ge=1, le=MAX_TRIALS)


class Grid(_Many):
    """Every combination of the parameters' values."""

    name: Literal["grid"]


class Timed(_Sampled):
    """Keys of the searchers that look at trials on their way: `max_time` is the most that one gets, counted in `time_metric`."""

    time_metric: str = Field(min_length=1, max_length=256)
    max_time: int = Field(ge=1, le=2**53)

    @rule
    def _compares_in_time(self) -> None:
        if self.time_metric in [aim.name for aim in self.aims]:
            raise refusal(
                f"time_metric '{self.time_metric}' is the metric that trials are ranked by", "time_metric",
                hint="it says how far a trial has come: step, or a metric such as epochs",
            )  # fmt: skip
        for key in ("interval", "grace_time"):
            if (value := getattr(self, key, 0)) > self.max_time:
                raise refusal(
                    f"{key} ({value}) must be at most max_time ({self.max_time})", key,
                    hint="trials would be over before they are compared",
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
    """Several ASHA brackets of differing depth, chosen by `mode` or given as `bracket_rungs`."""

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
    """Rungs are at whole times."""
    if rungs > max_time:
        raise refusal(
            f"{rungs} rungs are more than max_time ({max_time}) has times for", *at,
            hint="lower it, or count time in smaller parts: steps, say, in place of epochs",
        )  # fmt: skip


class MedianStopping(Timed):
    """A trial whose best is worse than the median of the others' averages so far is stopped (Vizier's rule).

    Attributes:
        grace_time: No trial is stopped before; by default a quarter of `max_time`.
        interval: Trials are compared every so much of `time_metric`; by default a twentieth of `max_time`, 1 at least.
        min_trials: So many others must have come as far first; by default 3, or as many as there are.
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
                hint="so many others are waited for before a trial is stopped: none ever would be",
            )  # fmt: skip


class Hyperband(Timed):
    """Synchronous successive halving in brackets: each begins with many short trials or few long ones; all follow from `max_time`.

    Attributes:
        min_time: The least that a trial gets. There are about log(max_time / min_time) to the base `divisor` brackets.
        divisor: At each rung, the best of so many go on, for so many times as long.
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
                f"these brackets make {trials} trials, more than {MAX_TRIALS}",
                "min_time",
                hint="raise it: the least time that tells trials apart",
            )


class Pbt(Timed):
    """Population-based training: every `interval` the worst give way to copies of the best, which go on with changed hyperparameters.

    Attributes:
        population_size: So many train side by side, or in turn where there are fewer places.
        interval: Trials are compared every so much of `time_metric`; by default a tenth of `max_time`, 1 at least.
        truncate_fraction: Of those that train, this share gives way, and as many are copied from.
        resample_probability: That a hyperparameter of a copy is proposed anew; else a number is multiplied.
        perturb_factor: By 1 plus or minus this.
        keep: Hyperparameters that a copy takes over as they are, by their paths, such as the width of a network.
    """

    refused: ClassVar[Mapping[str, str]] = _REFUSED | {
        "max_trials": "give `population_size`; how many copies there will be follows from the results",
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
    """A program of yours decides, by asking and telling: which trials there are, how far each goes, and when the search is over.

    Attributes:
        time_metric: In what your program says how far a trial goes; `step` is the step itself.
        undecided: What becomes of a trial that came as far as it was told to, until the program decides: `park` has it save, and gives its
            slots to others; `train` has it train on meanwhile.
        driver_timeout: After so many seconds in which no program asked or told, and nothing else happened, the search ends with the
            best so far; null waits for ever.
        sampler: Proposes the points of trials that are created without hyperparameters.
    """

    name: Literal["custom"]
    time_metric: str = Field(default="step", min_length=1, max_length=256)
    undecided: Literal["park", "train"] = "park"
    driver_timeout: int | None = Field(default=86_400, ge=1, le=2**31)
    sampler: Sampler = RANDOM
