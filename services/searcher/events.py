"""Convert experiments and trials to the searcher's messages."""

from typing import get_args

from muster.config import ExperimentConfig
from muster.config.small_sections import Resources
from services.searcher.core.experiment.entities import (
    ExperimentRecord,
    ScoredValidation,
    SearchLimits,
    TrialRecord,
    trial_id,
)
from services.searcher.core.experiment.results import time_metric
from services.searcher.core.experiment.states import TrialState
from services.searcher.store.entities import Submission
from shared.ids import ExperimentId, PoolName, WorkerId
from shared.messages.experiments import (
    BestTrial,
    ExperimentChanged,
    SearchBudget,
    SearchChanges,
    TrialChanged,
    TrialCounts,
    TrialRequested,
    Validated,
)
from shared.messages.trial_specs import (
    BindMount,
    ContainerDevice,
    ContainerSpec,
    LogPolicy,
    QueueShare,
    RegistryAuth,
    SecretReference,
    SlotKind,
    Slots,
    TrialSpec,
)


def public_state(state: TrialState) -> str:
    """Return a trial's public state. Separate fields report that it is invalid or finishing."""
    if state is TrialState.INVALID:
        return "error"
    if state is TrialState.FINISHING:
        return "stopping"
    return state.value


def experiment_changed(experiment: ExperimentRecord) -> ExperimentChanged:
    """Return the experiment's whole public state."""
    best, counts = experiment.best, experiment.counts
    return ExperimentChanged(
        experiment_id=experiment.id,
        version=experiment.version,
        number=experiment.number,
        state=experiment.state.value,
        reason=experiment.reason,
        archived=experiment.archived,
        progress=experiment.progress,
        best=BestTrial(
            trial_id=trial_id(experiment.id, best.trial),
            trial_number=best.trial,
            step=best.step,
            value=best.value,
            others=dict(best.others),
        )
        if best
        else None,
        trials=TrialCounts(
            queued=counts.queued,
            running=counts.running,
            parked=counts.parked,
            stopping=counts.stopping,
            completed=counts.completed,
            stopped=counts.stopped,
            error=counts.error,
            cancelled=counts.cancelled,
            invalid=counts.invalid,
            finishing=counts.finishing,
            planned=experiment.planned,
        ),
        priority=experiment.priority,
        started_at=experiment.started_at,
        ended_at=experiment.ended_at,
        final=experiment.is_final,
        terms=_changes(experiment.limits),
        budget=_budget(experiment.limits),
    )


def trial_changed(trial: TrialRecord, experiment_id: ExperimentId) -> TrialChanged:
    """Return the trial's whole public state."""
    return TrialChanged(
        trial_id=trial.id,
        experiment_id=experiment_id,
        version=trial.version,
        number=trial.number,
        state=public_state(trial.state),
        invalid=trial.state is TrialState.INVALID,
        finishing=trial.state is TrialState.FINISHING,
        reason=trial.reason,
        hyperparameters=trial.point,
        seed=trial.seed,
        slots=trial.slots,
        source=trial.source,
        start_checkpoint=trial.start_checkpoint,
        best=_validated(trial.best),
        latest=_validated(trial.latest),
        runs=trial.run,
        created_at=trial.created_at,
        ended_at=trial.ended_at,
        final=trial.is_final,
    )


def trial_requested(submission: Submission, config: ExperimentConfig, trial: TrialRecord) -> TrialRequested:
    """Return the newest request for the trial, with everything that a run needs to know."""
    return TrialRequested(
        trial_id=trial.id,
        experiment_id=submission.id,
        version=trial.request_version,
        request=trial.request,
        desired_state=trial.desired_state,
        decide_at=trial.decide_at,
        spec=_spec(submission, config, trial),
    )


def _changes(limits: SearchLimits) -> SearchChanges | None:
    if limits.operation is None:
        return None
    return SearchChanges(operation_id=limits.operation, max_concurrent_trials=limits.max_concurrent_trials)


def _budget(limits: SearchLimits) -> SearchBudget | None:
    if limits.used_slot_hours is None:
        return None
    return SearchBudget(
        slot_hours=limits.slot_hours,
        cost=limits.cost,
        deadline=limits.deadline,
        used_slot_hours=limits.used_slot_hours,
        used_cost=limits.used_cost or 0.0,
    )


def _spec(submission: Submission, config: ExperimentConfig, trial: TrialRecord) -> TrialSpec:
    resources, searcher, period = config.resources, config.searcher, config.min_checkpoint_period
    return TrialSpec(
        experiment_number=submission.number,
        experiment_name=submission.name,
        workspace=submission.workspace,
        owner=submission.owner,
        trial_number=trial.number,
        code_hash=submission.code_hash,
        entrypoint=config.entrypoint,
        environment=config.environment.variables(),
        requirements=config.environment.requirements,
        hyperparameters=trial.point,
        data=config.data,
        seed=trial.seed,
        metric=searcher.metric,
        smaller_is_better=searcher.smaller_is_better,
        time_metric=time_metric(config),
        slots=slots_of(resources),
        pool=PoolName(resources.resource_pool or "default"),
        share=QueueShare(priority=resources.priority, weight=resources.weight, max_slots=resources.max_slots),
        max_restarts=config.max_restarts,
        preemption_timeout_s=float(config.preemption_timeout),
        upload_timeout_s=float(config.upload_timeout),
        hang_timeout_s=config.hang_timeout,
        start_timeout_s=config.start_timeout,
        on_nan=config.on_nan,
        checkpoint_policy=config.checkpoint_policy,
        checkpoint_period=period.length if period else None,
        checkpoint_period_unit=period.unit if period else "batches",
        distributed=config.distributed,
        optimizations=config.optimizations.model_dump(mode="json"),
        profiling=config.profiling.model_dump(mode="json") if config.profiling.enabled else {},
        log_policies=tuple(
            LogPolicy(name=policy.label, pattern=policy.pattern or "", action=policy.action)
            for policy in config.log_policies
        ),
        start_checkpoint=trial.start_checkpoint or submission.start_checkpoint,
        container=container_of(config),
        secrets=tuple(
            SecretReference(name=secret.name, file=secret.file) for secret in config.environment.secrets
        ),
    )


def container_of(config: ExperimentConfig) -> ContainerSpec | None:
    """Return what a config requests for its containers; None if its trials run as processes of the worker."""
    environment, resources = config.environment, config.resources
    if environment.image is None:
        return None
    image, auth = environment.image, environment.registry_auth
    return ContainerSpec(
        images=image if isinstance(image, dict) else dict.fromkeys(get_args(SlotKind), image),
        force_pull=environment.force_pull_image,
        registry_auth=RegistryAuth(**auth.model_dump()) if auth else None,
        bind_mounts=tuple(BindMount(**mount.model_dump()) for mount in config.bind_mounts),
        devices=tuple(ContainerDevice(**device.model_dump()) for device in resources.devices),
        shm_bytes=resources.shm_size or 0,
        add_capabilities=environment.add_capabilities,
        drop_capabilities=environment.drop_capabilities,
    )


def slots_of(resources: Resources) -> Slots:
    """Return the slots that a trial requests, as its config states them."""
    least, most = resources.slot_range
    return Slots(
        min=least,
        max=most,
        kind=resources.slot_kind,
        single_node=resources.is_single_node,
        fraction=resources.slot_fraction,
        required_labels=resources.required_labels,
        preferred_labels=resources.preferred_labels,
        excluded_workers=tuple(map(WorkerId, resources.excluded_workers)),
    )


def _validated(mark: ScoredValidation | None) -> Validated | None:
    return Validated(step=mark.step, value=mark.value, others=dict(mark.others)) if mark else None
