"""The schema of cluster, policy and workload files. Names include the units."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from muster.config.labels import LabelPart, Labels as LabelsOfMachines, read_labels
from services.scheduler.core.state.records.labels import Labels, labels_of
from shared.ids import WorkerId
from shared.messages.trial_specs import WHOLE_SLOT, SlotKind, Thousandths

Name = Annotated[str, Field(min_length=1, max_length=200)]
Slots = Annotated[int, Field(ge=1, le=1_000_000)]
Part = Annotated[float, Field(ge=0.001, le=0.999)]
"""A fraction of one slot, with a resolution of one thousandth."""
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
AskedLabels = Annotated[
    LabelsOfMachines, BeforeValidator(lambda given: read_labels(given) if isinstance(given, str) else given)
]
"""A mapping; in CSV `rack=r7,zone=a`."""
Length = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Strict(BaseModel):
    """Rejects unknown keys, because a key without effect is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MachineGroup(Strict):
    """`count` equal machines, named `name-1`, `name-2`, …

    Attributes:
        is_numbered: False: a single machine named `name`.
        host: Equal for groups whose machines are workers of one host; an exclusive cluster serves one tenant at a
            time there.
        labels: Of all of them.
        domains: For a label key, how many consecutive machines share a value: with `{rack: 8}` the first eight
            are labelled `rack=name-1`, the next eight `rack=name-2`.
    """

    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    slots: Annotated[int, Field(ge=1, le=1024)]
    name: Name = "machine"
    is_numbered: bool = True
    kind: SlotKind | None = None
    host: Name | None = None
    labels: LabelsOfMachines = Field(default_factory=dict)
    domains: dict[LabelPart, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    def worker(self, number: int) -> WorkerId:
        """Return the name of the machine with this number, starting at 0."""
        return WorkerId(f"{self.name}-{number + 1}" if self.is_numbered else self.name)

    def labels_of(self, number: int) -> Labels:
        """Return the labels of the machine with this number, starting at 0."""
        shared = {key: f"{self.name}-{number // size + 1}" for key, size in self.domains.items()}
        return labels_of({**self.labels, **shared})


class Failures(Strict):
    """Failures of machines: the mean time between two failures of one machine, and how long it is down."""

    every_h: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    away_min: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0


class QuotaLimits(Strict):
    """Limits of a tenant or a workspace, in slots. `weight`: its weight under `fair_share`."""

    guaranteed: Annotated[int, Field(ge=0)] = 0
    maximum: Annotated[int, Field(ge=0)] | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0


class Provider(Strict):
    """Machines that are rented while they are needed.

    Attributes:
        boot_s: From an order to a machine that accepts work.
        failing: Fraction of the orders that are refused or never boot.
        spot_every_h: Mean time until a spot machine is reclaimed, with two minutes' notice; default: never.
    """

    slots: Annotated[int, Field(ge=1, le=1024)]
    minimum: Annotated[int, Field(ge=0, le=100_000)] = 0
    maximum: Annotated[int, Field(ge=1, le=100_000)]
    kind: SlotKind = "cuda"
    price_per_hour: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    boot_s: Annotated[float, Field(ge=0, le=1e6)] = 90.0
    idle_timeout_s: Annotated[float, Field(ge=1, le=1e6)] = 300.0
    join_timeout_s: Annotated[float, Field(ge=1, le=1e6)] = 600.0
    failing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    spot_every_h: Annotated[float, Field(gt=0, le=1e6)] | None = None


class Window(Strict):
    """Slots reserved for a tenant, or for one of its workspaces (`tenant/workspace`), in hours since the
    beginning."""

    holder: Annotated[str, Field(pattern=r"^[^/]+(/[^/]+)?$")]
    slots: Slots
    from_h: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    until_h: Annotated[float, Field(gt=0, le=1e6)]

    @model_validator(mode="after")
    def _check_order(self) -> "Window":
        if self.until_h <= self.from_h:
            raise ValueError(f"until_h {self.until_h} is not after from_h {self.from_h}")
        return self


class Cluster(Strict):
    """One pool. `exclusive`: a machine serves one tenant at a time, and gangs may span machines.

    Attributes:
        provider: Adds rented machines to the existing ones.
        quotas: By `tenant` or `tenant/workspace`.
        reservations: During their windows these slots serve only their holder.
    """

    machines: tuple[MachineGroup, ...] = ()
    provider: Provider | None = None
    exclusive: bool = True
    failures: Failures | None = None
    quotas: dict[Annotated[str, Field(pattern=r"^[^/]+(/[^/]+)?$")], QuotaLimits] = Field(
        default_factory=dict
    )
    reservations: tuple[Window, ...] = ()

    @model_validator(mode="after")
    def _has_machines(self) -> "Cluster":
        if not self.machines and self.provider is None:
            raise ValueError("the cluster has neither machines nor a provider")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> "Cluster":
        names = [group.name for group in self.machines]
        if len(set(names)) < len(names):
            raise ValueError("two groups of machines have the same name")
        return self


class Policy(Strict):
    """How the pool is scheduled; `order` is the queue order. The defaults are those of a pool without
    configuration."""

    order: Literal["fifo", "priority", "fair_share"] = "fair_share"
    preemption: bool = True
    default_priority: Annotated[int, Field(ge=1, le=99)] = 42
    ageing_s: Length | None = None
    min_run_s: Seconds = 0.0
    max_preemptions: Annotated[int, Field(ge=0)] | None = None
    half_life_h: Length = 24.0
    quantum_s: Annotated[float, Field(ge=10, le=1e9)] | None = 600.0
    elastic: bool = True
    defragment: bool = False
    topology: tuple[LabelPart, ...] = ()
    placement: Literal["best_fit", "spread"] = "best_fit"


class TrialEntry(Strict):
    """A trial, or `count` of them, one every `every_s`. `length_s`: its duration with `slots` slots. A fraction
    such as 0.5 shares a slot with other trials of the same tenant."""

    name: Name = "trial"
    arrives_s: Seconds = 0.0
    slots: Slots | Part = 1
    min_slots: Slots | None = None
    length_s: Length
    tenant: Name = "default"
    workspace: Name = "default"
    user: Name = "default"
    experiment: str = ""
    priority: Annotated[int, Field(ge=1, le=99)] | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0
    max_slots: Slots | None = None
    single_node: bool = False
    required_labels: AskedLabels = Field(default_factory=dict)
    preferred_labels: AskedLabels = Field(default_factory=dict)
    checkpoint_s: Length | None = None
    launch_s: Seconds = 1.0
    resize_s: Seconds | None = None
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    every_s: Seconds = 0.0

    @property
    def fraction(self) -> Thousandths:
        """The fraction of its one slot, in thousandths; 0: whole slots."""
        return round(self.slots * WHOLE_SLOT) if isinstance(self.slots, float) else 0

    @property
    def whole_slots(self) -> int:
        """The number of slots that it occupies."""
        return 1 if isinstance(self.slots, float) else self.slots

    @model_validator(mode="after")
    def _sizes_agree(self) -> "TrialEntry":
        if self.min_slots is not None and self.min_slots > self.slots:
            raise ValueError(f"min_slots {self.min_slots} is above slots {self.slots}")
        return self


class Curves(Strict):
    """How the trials of an experiment learn: from `first` towards a final metric between `best` and `worst`,
    which depends on the point. The distance halves every `halves_after` steps (default: a fifth of all)."""

    first: Finite = 1.0
    best: Finite = 0.0
    worst: Finite = 0.5
    halves_after: Length | None = None
    noise: Annotated[float, Field(ge=0, le=1e9)] = 0.0


class ExperimentEntry(Strict):
    """An experiment whose trials the search creates and stops, or `count` of them with different seeds, one
    every `every_s`.

    Attributes:
        config: Its config: a file relative to this one, or the keys inline.
        steps: A trial ends after this many (default: the searcher's `max_time`); a step is one unit of `time_metric`.
        step_s: Step time with the slots that the config requests.
        spread: Standard deviation of the logarithm of the trials' step times.
        validate_every: Steps between two validations (default: a hundredth of all).
    """

    config: Name | dict[str, JsonValue]
    name: Name = "experiment"
    arrives_s: Seconds = 0.0
    tenant: Name = "default"
    user: Name = "default"
    seed: Annotated[int, Field(ge=0)] = 0
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = None
    step_s: Length = 1.0
    spread: Annotated[float, Field(ge=0, le=3)] = 0.0
    validate_every: Annotated[int, Field(ge=1, le=10**9)] | None = None
    checkpoint_s: Length | None = None
    launch_s: Seconds = 1.0
    learning: Curves = Curves()
    count: Annotated[int, Field(ge=1, le=10_000)] = 1
    every_s: Seconds = 0.0


class Workload(Strict):
    """At least one trial or experiment."""

    trials: tuple[TrialEntry, ...] = ()
    experiments: tuple[ExperimentEntry, ...] = ()

    @model_validator(mode="after")
    def _is_something(self) -> "Workload":
        if not (self.trials or self.experiments):
            raise ValueError("the workload has neither trials nor experiments")
        return self
