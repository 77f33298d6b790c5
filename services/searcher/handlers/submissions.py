"""Create experiments from a batch of submissions: read configs, load prior observations, and start the searches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muster.config import ExperimentConfig, load_config
from services.searcher.core.budget.limits import check_budget
from services.searcher.core.experiment.entities import ExperimentRecord
from services.searcher.core.experiment.states import ExperimentState
from services.searcher.core.reducers.submissions import Submitted, on_submission
from services.searcher.core.samplers import check_space
from services.searcher.core.search.prior_observations import NO_PRIOR_OBSERVATIONS, PriorObservations
from services.searcher.events import experiment_changed
from services.searcher.runner.dispatcher import AppliedDecision, Dispatcher
from services.searcher.runner.prior_observations import load_prior_observations, prior_experiments_of
from services.searcher.runner.searches import begin_search
from services.searcher.store import entities
from services.searcher.store.entities import Locked, Submission
from shared.bus import Delivery, Unit
from shared.errors import Rejected
from shared.ids import CheckpointId
from shared.messages.experiments import SubmissionCommitted


@dataclass(frozen=True, slots=True)
class _Submission:
    """An experiment to create, with its prior observations. Without a config it is rejected."""

    delivery: Delivery[SubmissionCommitted]
    submission: Submission
    experiment: ExperimentRecord
    config: ExperimentConfig | None = None
    prior: PriorObservations = NO_PRIOR_OBSERVATIONS


@dataclass(frozen=True, slots=True)
class SubmissionHandlers:
    dispatcher: Dispatcher

    async def on_submission_committed(self, unit: Unit, batch: list[Delivery[SubmissionCommitted]]) -> None:
        """Create the experiments and their first trials; an invalid config creates a rejected experiment."""
        done: list[AppliedDecision] = []
        for part in _in_parts([self._read(unit, delivery) for delivery in batch]):
            warmed = [await self._warm(unit, one) for one in part]
            made = [(one.submission, one.experiment) for one in warmed]
            new = await entities.insert_submissions(unit.connection, made)
            for one in warmed:
                if one.config is None and one.experiment.id in new:
                    unit.emit(experiment_changed(one.experiment), cause=one.delivery)
                elif one.config is not None and one.experiment.id in new:
                    done.append(await self._begin(unit, one, one.config))
        await self.dispatcher.finish(unit, done)

    def _read(self, unit: Unit, delivery: Delivery[SubmissionCommitted]) -> _Submission:
        message = delivery.message
        experiment = ExperimentRecord(message.experiment_id, message.number, unit.now)
        try:
            config = load_config(message.config)
            self.dispatcher.check_container(config)
            check_space(config)
            check_budget(config, unit.now, self.dispatcher.price_of(config))
        except Rejected as error:
            return _rejected(delivery, experiment, error)
        return _Submission(delivery, _submission(delivery, config), experiment, config)

    async def _warm(self, unit: Unit, one: _Submission) -> _Submission:
        if one.config is None:
            return one
        try:
            prior, _ = await load_prior_observations(unit.connection, one.config, one.submission.workspace)
        except Rejected as error:
            return _rejected(one.delivery, one.experiment, error)
        return replace(one, prior=prior)

    async def _begin(self, unit: Unit, one: _Submission, config: ExperimentConfig) -> AppliedDecision:
        loaded = await begin_search(one.submission, config)
        self.dispatcher.searches.check_out_new(unit, loaded)
        submitted = Submitted(one.prior, one.submission.at, self.dispatcher.price_of(config))
        locked = Locked(one.experiment, [])
        return await self.dispatcher.reduce(unit, locked, on_submission, [submitted], (one.delivery,))


def _in_parts(submitted: Sequence[_Submission]) -> list[list[_Submission]]:
    """Split a batch into groups to create at once, in order.

    An experiment that learns from earlier ones starts a new group, because they may come right before it in the
    batch.
    """
    parts: list[list[_Submission]] = []
    for one in submitted:
        if not parts or (one.config is not None and prior_experiments_of(one.config)):
            parts.append([])
        parts[-1].append(one)
    return parts


def _rejected(
    delivery: Delivery[SubmissionCommitted], made: ExperimentRecord, error: Rejected
) -> _Submission:
    rejected = ExperimentRecord(
        made.id,
        made.number,
        made.started_at,
        state=ExperimentState.REJECTED,
        version=1,
        reason=str(error),
        ended_at=made.started_at,
    )
    return _Submission(delivery, _submission(delivery, None), rejected)


def _submission(delivery: Delivery[SubmissionCommitted], config: ExperimentConfig | None) -> Submission:
    message = delivery.message
    seed = config.reproducibility.experiment_seed if config else None
    source = config.searcher.source_checkpoint_uuid if config else None
    return Submission(
        tenant=delivery.envelope.tenant,
        id=message.experiment_id,
        number=message.number,
        name=message.name,
        workspace=message.workspace,
        owner=message.owner,
        config=message.config,
        seed=seed if seed is not None else message.experiment_id.int & 0x7FFFFFFF,
        code_hash=message.code_hash,
        start_checkpoint=CheckpointId(UUID(source)) if source else None,
        at=message.submitted_at,
    )
