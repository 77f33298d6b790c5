"""`ExperimentConfig`: the one schema of an experiment, Determined's names plus ours."""

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, field_validator
from pydantic_core import PydanticCustomError

from muster.config.budget import Budget
from muster.config.checkpoint_policy import CheckpointPeriod, CheckpointPolicy
from muster.config.conditions import Point, check_conditions
from muster.config.constraints import MAX_LENGTH, Constraint, read_constraint
from muster.config.determined_keys import BY_PATH
from muster.config.environment import Environment
from muster.config.log_policies import LogPolicy, check_policies
from muster.config.optimizations import Distributed, Optimizations, check_optimizations
from muster.config.point_validation import check_names, check_point
from muster.config.searcher_union import Searcher
from muster.config.searchers import Custom, Grid, Hyperband, Pbt, Single
from muster.config.section import Section, refusal, rule
from muster.config.sections import (
    CheckpointStorage,
    Profiling,
    Reproducibility,
    Resources,
    RetentionPolicy,
)
from muster.config.space import Categorical, Hyperparameter, grid_size, leaves, searched

MAX_GRID_POINTS = 100_000

_TRIAL_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_LAUNCHER = re.compile(r"\s-m\s+determined\.launch\.")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""What stands as it is in JSON text and not in YAML, by which configs are read; to YAML three of them end a line."""
_POINTS = ("searcher", "warm_start", "points")
Label = Annotated[str, Field(min_length=1, max_length=128)]
Timeout = Annotated[int, Field(ge=5, le=7 * 86_400)] | None
Expression = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


class ExperimentConfig(Section):
    """One experiment: what to run, over which space, searched how, on what.

    Equal configs have equal `to_json()`. Build it with `muster.config.load_config`, whose refusals carry
    the place in the input.

    Attributes:
        name: Shown to people; null shows the experiment's number.
        workspace: Where it belongs, together with `project`; both null means the default project.
        data: Handed to user code unread.
        entrypoint: A string runs under `sh -c`, a list is executed as it stands.
        hyperparameters: The search space; see `muster.config.space`.
        constraints: Expressions that every point meets, such as `batch_size * width <= 65536`; one that speaks of a parameter
            that takes no part is met.
        distributed: How several slots train together: by Horovod, by `torch.distributed` (DDP), or by a launcher of your own (none:
            one process on each machine, with all of its slots).
        max_restarts: Failed runs of a trial that are repeated; it fails with the next one.
        checkpoint_policy: After which validations `trial.should_checkpoint()` asks for a checkpoint: those that beat the trial's best so
            far, all, or none. Before a trial is stopped it asks for one in any case.
        min_checkpoint_period: How far the trial may train until another is stored, whatever the policy; null is any distance.
        preemption_timeout: Seconds between a signal and its enforcement.
        upload_timeout: Seconds that a trial's next run waits for the uploads of the one before; only time in which the object store responds counts.
        hang_timeout: Seconds beyond the expected step after which a trial in which nothing moves is ended and started again; null waits
            for ever.
        start_timeout: The same for its first steps, from `muster.trial()` on.
        on_nan: What becomes of a trial that reports a NaN as a loss, or as the searcher's metric: it goes on, stops with what it has, fails
            for good, or fails and is started again from its newest checkpoint.
    """

    refused: ClassVar[Mapping[str, str]] = {
        "template": "name it beside the config: `muster experiment create --template NAME`",
        "bind_mounts": BY_PATH[("bind_mounts",)].says,
    }

    name: str | None = Field(default=None, min_length=1, max_length=128)
    description: str = Field(default="", max_length=4096)
    labels: tuple[Label, ...] = Field(default=(), max_length=64, strict=False)
    workspace: str | None = Field(default=None, min_length=1, max_length=128)
    project: str | None = Field(default=None, min_length=1, max_length=128)
    data: dict[str, JsonValue] = Field(default_factory=dict)
    entrypoint: str | tuple[str, ...]
    hyperparameters: dict[str, Hyperparameter] = Field(default_factory=dict)
    constraints: tuple[Expression, ...] = Field(default=(), max_length=64, strict=False)
    searcher: Searcher
    budget: Budget | None = None
    resources: Resources = Resources()
    max_restarts: int = Field(default=5, ge=0, le=10_000)
    environment: Environment = Environment()
    checkpoint_storage: CheckpointStorage = CheckpointStorage()
    checkpoint_policy: CheckpointPolicy = "best"
    min_checkpoint_period: CheckpointPeriod | None = None
    preemption_timeout: int = Field(default=3600, ge=0, le=7 * 86_400)
    upload_timeout: int = Field(default=300, ge=1, le=86_400)
    hang_timeout: Timeout = 60
    start_timeout: Timeout = 1800
    on_nan: Literal["continue", "stop", "fail", "restart"] = "continue"
    reproducibility: Reproducibility = Reproducibility()
    distributed: Distributed = "horovod"
    optimizations: Optimizations = Optimizations()
    profiling: Profiling = Profiling()
    retention_policy: RetentionPolicy = RetentionPolicy()
    log_policies: tuple[LogPolicy, ...] = Field(default=(), max_length=32, strict=False)

    @field_validator("entrypoint", mode="before")
    @classmethod
    def _is_a_command(cls, entrypoint: object) -> object:
        if isinstance(entrypoint, str):
            if not entrypoint.strip():
                raise refusal("the entrypoint is empty", hint="e.g. entrypoint: python3 train.py")
            _check_launcher(entrypoint)
            return entrypoint
        if isinstance(entrypoint, list | tuple):
            if not entrypoint or not all(isinstance(word, str) for word in entrypoint) or not entrypoint[0]:
                raise refusal("the entrypoint's list must hold text, the program first")
            _check_launcher(" ".join(entrypoint))
            return tuple(entrypoint)
        raise refusal("the entrypoint must be text or a list of text")

    @rule
    def _holds_together(self) -> None:
        if (self.workspace is None) != (self.project is None):
            lacking = "project" if self.project is None else "workspace"
            raise refusal(f"workspace and project come together: '{lacking}' is missing", lacking)
        check_conditions(self.hyperparameters)
        check_optimizations(self.distributed, self.optimizations)
        self.read_constraints()
        self._check_space()
        self.first_points()
        check_policies(self.log_policies)
        if self.budget is not None:
            self.budget.check_trial(self.slots_held)

    @property
    def slots_held(self) -> float:
        """The most slots that a run of a trial holds; less than one where it shares its slot."""
        return self.resources.slot_part / 1000 or self.resources.slot_range[1]

    def first_points(self) -> tuple[Point, ...]:
        """Return the points that a warm start tries first, as samplers would write them. Raises a refusal where one is none of the space."""
        warm_start = getattr(self.searcher, "warm_start", None)
        return tuple(
            self._first_point(index, point)
            for index, point in enumerate(warm_start.points if warm_start else ())
        )

    def _first_point(self, index: int, given: Point) -> Point:
        try:
            check_names(self.hyperparameters, given)
            point = check_point(self.hyperparameters, given)
        except PydanticCustomError as error:
            context = error.context or {}
            at = (*_POINTS, index, *context["at"])
            raise refusal(context["message"], *at, hint=context["hint"]) from None
        for constraint in self.read_constraints():
            if not constraint.is_met(point):
                raise refusal(
                    f"this point misses the constraint '{constraint.text}'", *_POINTS, index,
                    hint="leave the point out, or widen the constraint",
                )  # fmt: skip
        return point

    def read_constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints, ready to be asked."""
        known = frozenset(path for path, _ in leaves(self.hyperparameters))
        return tuple(
            read_constraint(text, known, "constraints", index) for index, text in enumerate(self.constraints)
        )

    def _check_space(self) -> None:
        if isinstance(self.searcher, Single):
            return
        varied = searched(self.hyperparameters)
        self._check_sampler(self.searcher)
        if isinstance(self.searcher, Custom):
            return  # Its program may give points of its own.
        is_many = isinstance(self.searcher, Grid | Hyperband | Pbt) or self.searcher.max_trials > 1
        if not varied and is_many:
            raise refusal(
                f"there is nothing to search: no hyperparameter varies, and the searcher is "
                f"'{self.searcher.name}'",
                "hyperparameters",
                hint="give a parameter a range, or use searcher.name: single",
            )
        if isinstance(self.searcher, Grid):
            self._check_grid()
        if isinstance(self.searcher, Pbt):
            self._check_keep(self.searcher.keep)

    def _check_sampler(self, searcher: Searcher) -> None:
        if isinstance(searcher, Grid | Single) or searcher.sampler.name != "cmaes":
            return
        varied = [parameter for _, parameter in searched(self.hyperparameters)]
        if varied and all(isinstance(each, Categorical) or each.when for each in varied):
            raise refusal(
                "the sampler 'cmaes' adapts numbers that every trial has, and there are none here",
                "searcher", "sampler",
                hint="tpe and nsga2 take choices and conditions; random and quasi_random too",
            )  # fmt: skip

    def _check_keep(self, keep: tuple[str, ...]) -> None:
        names = [".".join(path) for path, _ in leaves(self.hyperparameters)]
        for index, name in enumerate(keep):
            if name not in names:
                raise refusal(
                    f"'{name}' is no hyperparameter", "searcher", "keep", index,
                    hint="name it by its whole path: outer.inner",
                )  # fmt: skip
        if all(".".join(path) in keep for path, _ in searched(self.hyperparameters)):
            raise refusal(
                "every hyperparameter that varies is kept, so that copies would be alike", "searcher", "keep"
            )

    def _check_grid(self) -> None:
        sizes = []
        for path, parameter in searched(self.hyperparameters):
            if (size := grid_size(parameter)) is None:
                raise refusal(
                    "a grid needs a 'count' (or a 'step') here: how many values to try",
                    "hyperparameters", *path, "count",
                )  # fmt: skip
            sizes.append(size)
        if (points := math.prod(sizes)) > MAX_GRID_POINTS:
            raise refusal(
                f"the grid has {points} points, more than {MAX_GRID_POINTS}",
                "hyperparameters",
                hint="lower the counts, or use searcher.name: random",
            )

    def to_json(self) -> str:
        """Return the canonical text: every key, sorted, no blanks; equal configs give equal text."""
        values = self.model_dump(mode="json")
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _check_launcher(command: str) -> None:
    """Refuse a class that inherits from Determined's harness, and its launcher where more than a command follows it."""
    if _TRIAL_CLASS.fullmatch(command.strip()) or _LAUNCHER.search(command):
        raise refusal(
            "the entrypoint names Determined's own launcher or a trial class, module:TrialClass, and neither is here",
            hint="name a script that calls muster.trial(): python3 train.py",
        )
