"""An experiment of a workload: its config, and how its trials would run."""

from dataclasses import dataclass, field

from muster.config import ExperimentConfig
from muster.config.small_sections import Resources
from services.scheduler.core.state.records.labels import PlacementConstraint, where_of
from services.scheduler.core.state.records.trial import SlotNeeds
from services.searcher.core.experiment.entities import TrialRecord
from services.searcher.core.search.prior_observations import NO_PRIOR_OBSERVATIONS, PriorObservations
from shared.ids import WorkerId
from simulator.experiments.replayed_curves import Earlier
from simulator.experiments.synthetic_curves import Landscape, Learning
from simulator.trials import SteppedWork, WorkloadTrial


@dataclass(frozen=True, slots=True)
class Submission:
    """What is submitted, by whom and when.

    Attributes:
        config: Without limits on metrics, which are taken to be met.
        seed: Of the trials' points and curves; the config's own seed takes precedence for points.
        checkpoint_ms: Training time between two checkpoints; None: only when told to stop.
        launch_ms: From the grant to the first step. `stop_ms`: from the signal to the end.
        earlier: Curves from earlier runs; None: drawn from the seed by `learning`.
        prior_observations: Prior observations of its search.
    """

    name: str
    config: ExperimentConfig
    learning: Learning
    arrives_ms: int = 0
    tenant: str = "default"
    user: str = "default"
    seed: int = 0
    checkpoint_ms: int | None = None
    launch_ms: int = 1000
    stop_ms: int = 500
    earlier: Earlier | None = None
    prior_observations: PriorObservations = NO_PRIOR_OBSERVATIONS
    landscape: Landscape | Earlier = field(init=False)

    def __post_init__(self) -> None:
        # Synthetic curves are not comparable with limits in real units.
        searcher = self.config.searcher.model_copy(update={"limits": ()})
        object.__setattr__(self, "config", self.config.model_copy(update={"searcher": searcher}))
        drawn = self.earlier or Landscape(self.config, self.learning, self.seed)
        object.__setattr__(self, "landscape", drawn)

    @property
    def workspace(self) -> str:
        return self.config.workspace or "default"

    @property
    def search_seed(self) -> int:
        """The seed from which the search draws its points."""
        own = self.config.reproducibility.experiment_seed
        return self.seed if own is None else own

    @property
    def needs(self) -> SlotNeeds:
        """The resources that one trial needs."""
        resources = self.config.resources
        least, most = resources.slot_range
        where = where_asked(resources)
        return SlotNeeds(
            least, most, resources.slot_kind, resources.is_single_node, resources.slot_fraction, where
        )

    def item(self, trial: TrialRecord, now_ms: int, source: TrialRecord | None = None) -> WorkloadTrial:
        """Return the work of a trial that the search created now; a copy continues from the newest checkpoint
        of `source`."""
        resources, curve = self.config.resources, self.landscape.curve(trial.point, trial.number)
        steps = curve.steps or self.learning.steps
        return WorkloadTrial(
            name=f"{self.name}.{trial.number}",
            arrives_ms=now_ms,
            work=SteppedWork(steps, curve.step_ms, self.needs.max_slots),
            min_slots=self.needs.min_slots,
            max_slots=self.needs.max_slots,
            fraction=self.needs.fraction,
            where=self.needs.where,
            tenant=self.tenant,
            workspace=self.workspace,
            user=self.user,
            experiment=self.name,
            priority=resources.priority,
            weight=resources.weight,
            single_node=resources.is_single_node,
            checkpoint_ms=self.checkpoint_ms,
            launch_ms=self.launch_ms if curve.launch_ms is None else curve.launch_ms,
            stop_ms=self.stop_ms,
            max_restarts=self.config.max_restarts,
            experiment_max_slots=resources.max_slots,
            steps=steps,
            begins_at=float(source.checkpoint.step) if source and source.checkpoint else 0.0,
            reports=curve,
        )


def where_asked(resources: Resources) -> PlacementConstraint | None:
    """Return the machine constraints of its trials; None: none."""
    excluded = map(WorkerId, resources.excluded_workers)
    return where_of(resources.required_labels, resources.preferred_labels, excluded)
