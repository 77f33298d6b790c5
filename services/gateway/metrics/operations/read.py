"""Read metrics. The registry answers; the gateway checks permissions."""

from uuid import UUID

from services.gateway.experiments.find import experiment_in
from services.gateway.metrics.render import render_series, render_summaries
from services.gateway.metrics.schema import (
    ExperimentMetrics,
    ExperimentMetricsRequest,
    MetricSummaries,
    TrialMetrics,
    TrialMetricsRequest,
)
from services.gateway.platform.call_context import Call
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from services.gateway.trials.schema import TrialRequest
from shared.ids import TrialId
from shared.messages.metrics import CompareTrials, GetSeries, GetSummaries

_COMPARED = 50


async def get_trial_metrics(call: Call, request: TrialMetricsRequest) -> TrialMetrics:
    """Get the metrics of a trial by step."""
    trial = await find_trial(call, request.trial)
    question = GetSeries(
        trial_id=TrialId(trial.id),
        group=request.group,
        names=tuple(request.name),
        max_points=request.max_points,
        first_step=request.first_step,
        last_step=request.last_step,
    )
    return render_series(
        await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    )


async def get_trial_summaries(call: Call, request: TrialRequest) -> MetricSummaries:
    """Get summary statistics of all metrics of a trial."""
    trial = await find_trial(call, request.trial)
    question = GetSummaries(trial_id=TrialId(trial.id))
    return render_summaries(
        await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    )


async def get_experiment_metrics(call: Call, request: ExperimentMetricsRequest) -> ExperimentMetrics:
    """Get the metrics of several trials of an experiment."""
    chosen = await _choose_trials(call, request)
    if not chosen:
        return ExperimentMetrics(trials=[])
    question = CompareTrials(
        trials=tuple(TrialId(trial) for trial in chosen),
        group=request.group,
        names=tuple(request.name),
        max_points=request.max_points,
        first_step=request.first_step,
        last_step=request.last_step,
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return ExperimentMetrics(trials=[render_series(page) for page in found.trials])


async def _choose_trials(call: Call, request: ExperimentMetricsRequest) -> list[UUID]:
    if request.trial:
        return [(await find_trial(call, reference)).id for reference in request.trial]
    async with call.read() as connection:
        experiment = await experiment_in(connection, request.experiment)
        rows = await trial_store.load_best_trials(
            connection, experiment.id, experiment.smaller_is_better, _COMPARED
        )
    return [row.id for row in rows]
