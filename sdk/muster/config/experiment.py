"""`ExperimentConfig`: the schema of an experiment, with Determined's key names and Muster's own."""

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, field_validator
from pydantic_core import PydanticCustomError

from muster.config.base_section import Section, refusal, rule
from muster.config.budget import Budget
from muster.config.checkpoint_policy import CheckpointPeriod, CheckpointPolicy
from muster.config.conditions import Point, check_conditions
from muster.config.constraints import MAX_LENGTH, Constraint, read_constraint
from muster.config.containers import BindMount
from muster.config.environment import Environment
from muster.config.log_policies import LogPolicy, check_policies
from muster.config.optimizations import Distributed, Optimizations, check_optimizations
from muster.config.point_validation import check_names, check_point
from muster.config.searcher_schema import Searcher
from muster.config.searchers import Custom, Grid, Hyperband, Pbt, Single
from muster.config.small_sections import (
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
"""Characters that JSON text may contain unescaped and YAML may not; YAML reads three of them as line breaks."""
_POINTS = ("searcher", "warm_start", "points")
Label = Annotated[str, Field(min_length=1, max_length=128)]
Timeout = Annotated[int, Field(ge=5, le=7 * 86_400)] | None
Expression = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


class ExperimentConfig(Section):
    """One experiment: the code to run, the search space, the search method and the resources.

    Equal configs have equal `to_json()`. Build a config with `muster.config.load_config`, whose errors carry the position in
    the input.

    Attributes:
        name: Display name; null shows the experiment's number.
        workspace: Workspace of the experiment, set together with `project`; if both are null, the default project is used.
        data: Passed to the script unchanged.
        entrypoint: Command of a trial. A string runs under `sh -c`; a list is executed without a shell.
        hyperparameters: The search space; see `muster.config.space`.
        constraints: Expressions that every point must meet, such as `batch_size * width <= 65536`. A constraint that names an
            inactive hyperparameter counts as met.
        distributed: How the slots of a trial train together: by Horovod, by `torch.distributed` (DDP), or by your own launcher
            (`none`: one process per machine, with all its slots).
        max_restarts: How many failed runs of a trial are repeated; the trial fails with the next failure.
        bind_mounts: Folders of the machines in the trial's container; needs `environment.image`.
        checkpoint_policy: Validations after which `trial.should_checkpoint()` asks for a checkpoint: those that improve on the
            trial's best, all, or none. A stopping trial is always asked for a last checkpoint.
        min_checkpoint_period: Maximum training between two stored checkpoints, whatever the policy; null means no maximum.
        preemption_timeout: Seconds that a trial has to end after a stop signal before it is killed.
        upload_timeout: Seconds that the next run of a trial waits for uploads of the previous run; only time in which the object
            store responds counts.
        hang_timeout: Seconds without progress, beyond the expected duration of a step, after which a trial is killed and
            restarted; null disables the check.
        start_timeout: Like `hang_timeout`, for the first steps, counted from `muster.trial()`.
        on_nan: Reaction to a NaN in a loss or in the searcher's metric: continue; stop with the results so far; fail without
            a restart; or fail and restart from the newest checkpoint.
    """

    refused: ClassVar[Mapping[str, str]] = {
        "template": "pass it on the command line: `muster experiment create --template NAME`",
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
    bind_mounts: tuple[BindMount, ...] = Field(default=(), max_length=64, strict=False)
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
            if (
                not entrypoint
                or not all(isinstance(argument, str) for argument in entrypoint)
                or not entrypoint[0]
            ):
                raise refusal("a list entrypoint must contain strings, with the program first")
            _check_launcher(" ".join(entrypoint))
            return tuple(entrypoint)
        raise refusal("the entrypoint must be a string or a list of strings")

    @rule
    def _holds_together(self) -> None:
        if (self.workspace is None) != (self.project is None):
            lacking = "project" if self.project is None else "workspace"
            raise refusal(f"workspace and project must be set together: '{lacking}' is missing", lacking)
        check_conditions(self.hyperparameters)
        check_optimizations(self.distributed, self.optimizations)
        self.read_constraints()
        self._check_space()
        self.first_points()
        check_policies(self.log_policies)
        self._check_container()
        if self.budget is not None:
            self.budget.check_trial(self.slots_held)

    def _check_container(self) -> None:
        """Refuse settings of containers without an image, and images that a machine of the slot kind would not find."""
        kind, image = self.resources.slot_kind, self.environment.image
        if isinstance(image, dict) and (not image or (kind or next(iter(image))) not in image):
            raise refusal(
                f"there is no image for slots of kind '{kind}'" if kind else "image names no image", "environment", "image",
                hint="add the kind to environment.image, or name one image for all",
            )  # fmt: skip
        least, most = self.resources.slot_range
        if image is not None and least < most and kind != "cpu":
            raise refusal(
                "an elastic trial in a container can have CPU slots only: the GPUs of a container are fixed when it starts",
                "resources", "slot_kind", hint="set slot_kind: cpu, or a fixed slots_per_trial",
            )  # fmt: skip
        given = {
            ("bind_mounts",): self.bind_mounts,
            ("resources", "shm_size"): self.resources.shm_size,
            ("resources", "devices"): self.resources.devices,
            ("environment", "registry_auth"): self.environment.registry_auth,
            ("environment", "force_pull_image"): self.environment.force_pull_image,
            ("environment", "add_capabilities"): self.environment.add_capabilities,
        }
        for path, value in given.items():
            if value and image is None:
                raise refusal(
                    f"{path[-1]} applies to containers, and the config names no image",
                    *path,
                    hint="set environment.image, or remove the key",
                )
        paths = [mount.container_path for mount in self.bind_mounts]
        if len(set(paths)) < len(paths):
            raise refusal("two bind mounts have the same container_path", "bind_mounts")

    @property
    def slots_held(self) -> float:
        """Maximum slots of a run of a trial; below 1 for a fractional slot."""
        return self.resources.slot_fraction / 1000 or self.resources.slot_range[1]

    def first_points(self) -> tuple[Point, ...]:
        """Return the warm-start points in the form that samplers write. Raises a refusal if a point is not in the space."""
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
                    f"this point violates the constraint '{constraint.text}'", *_POINTS, index,
                    hint="remove the point, or relax the constraint",
                )  # fmt: skip
        return point

    def read_constraints(self) -> tuple[Constraint, ...]:
        """Return the parsed constraints."""
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
            return  # The driver may create points itself.
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
                "the sampler 'cmaes' needs at least one numeric hyperparameter that is always active",
                "searcher", "sampler",
                hint="tpe, nsga2, random and quasi_random support categorical and conditional hyperparameters",
            )  # fmt: skip

    def _check_keep(self, keep: tuple[str, ...]) -> None:
        names = [".".join(path) for path, _ in leaves(self.hyperparameters)]
        for index, name in enumerate(keep):
            if name not in names:
                raise refusal(
                    f"'{name}' is not a hyperparameter", "searcher", "keep", index,
                    hint="write its full path: outer.inner",
                )  # fmt: skip
        if all(".".join(path) in keep for path, _ in searched(self.hyperparameters)):
            raise refusal(
                "keep lists every hyperparameter that varies, so copies would not differ from their originals",
                "searcher",
                "keep",
            )

    def _check_grid(self) -> None:
        sizes = []
        for path, parameter in searched(self.hyperparameters):
            if (size := grid_size(parameter)) is None:
                raise refusal(
                    "a grid needs a 'count' or a 'step' here, for the number of values to try",
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
        """Return the canonical JSON text: all keys, sorted, without blanks; equal configs give equal text."""
        values = self.model_dump(mode="json")
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _check_launcher(command: str) -> None:
    """Refuse trial classes of Determined's harness, and launcher commands with options that cannot be translated."""
    if _TRIAL_CLASS.fullmatch(command.strip()) or _LAUNCHER.search(command):
        raise refusal(
            "the entrypoint uses Determined's launcher or a trial class (module:TrialClass), which Muster does not have",
            hint="run a script that calls muster.trial(): python3 train.py",
        )
