"""Answer other services' queries. A reply has a size limit; what does not fit is left out from the end."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain

import orjson
from pydantic import JsonValue

from muster.config import load_accepted, load_config
from services.searcher.core.budget.limits import check_budget
from services.searcher.core.experiment.entities import ScoredValidation
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.pareto import pareto_front_of
from services.searcher.core.methods.halving import notes_of_rungs
from services.searcher.core.samplers import check_space
from services.searcher.core.search.prior_observations import PriorObservations
from services.searcher.events import public_state
from services.searcher.runner.dispatcher import Dispatcher
from services.searcher.runner.prior_observations import load_prior_observations, prior_experiments_of
from services.searcher.runner.replays import Replays
from services.searcher.store import entities, pareto
from services.searcher.store.pareto import ParetoTrialDetails
from shared.bus import RequestContext
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import NotFound
from shared.messages.experiments import (
    Accepted,
    GetParetoFront,
    GetReferences,
    ParetoPage,
    ParetoTrial,
    Referenced,
    ValidateConfig,
)
from shared.messages.plans import GetPriorObservations, PriorObservationsReply, PriorTrial
from shared.messages.search_journals import GetJournal, JournalEntry, JournalPage, ReplayExperiment
from shared.messages.trial_specs import UNCATEGORIZED

MOST_ENTRIES = 1000
PAGE_BYTES = 400 * 1024
_FRAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class SearcherQueries:
    """Answers `qry.v1.searcher.*`; none of the queries changes anything."""

    database: Database
    replays: Replays
    dispatcher: Dispatcher
    clock: Clock

    def answers(self) -> Mapping[Question, Answer]:
        return {
            ValidateConfig: self.on_validate,
            GetPriorObservations: self.on_prior_observations,
            GetJournal: self.on_journal,
            GetParetoFront: self.on_pareto_front,
            GetReferences: self.on_references,
            ReplayExperiment: self.replays.on_replay,
        }

    async def on_validate(self, ask: RequestContext, query: ValidateConfig) -> Accepted:
        """Raise Rejected with the place of the problem, or accept the config with notes on settings that have no effect."""
        config = load_config(query.config)
        self.dispatcher.check_container(config)
        price = self.dispatcher.price_of(config)
        check_budget(config, self.clock.now(), price)
        await asyncio.to_thread(check_space, config)
        notes: tuple[str, ...] = ()
        if prior_experiments_of(config):
            async with self.database.read(ask.tenant) as connection:
                _, notes = await load_prior_observations(
                    connection, config, config.workspace or UNCATEGORIZED
                )
        if config.budget is not None and config.budget.cost is not None and not price:
            notes = (*notes, "budget.cost: the pool has no price, so its slots count as free")
        return Accepted(warnings=(*notes, *notes_of_rungs(config.searcher)))

    async def on_prior_observations(
        self, ask: RequestContext, query: GetPriorObservations
    ) -> PriorObservationsReply:
        """Return the prior observations of a search. If the reply is too large, the trials that came least far are left out."""
        config = load_config(query.config)
        async with self.database.read(ask.tenant) as connection:
            prior, notes = await load_prior_observations(
                connection, config, config.workspace or UNCATEGORIZED
            )
        return known_at_start(prior, notes)

    async def on_journal(self, ask: RequestContext, query: GetJournal) -> JournalPage:
        """Return a page of journal entries, at most as many as fit into a reply."""
        limit = max(1, min(query.limit, MOST_ENTRIES))
        async with self.database.read(ask.tenant) as connection:
            if not await entities.has_experiment(connection, query.experiment_id):
                raise NotFound(f"experiment {query.experiment_id}")
            found = await entities.load_journal(connection, query.experiment_id, query.after, limit + 1)
        fits = fitting(entry.facts for entry, _ in found[:limit])
        entries = [
            JournalEntry(position=entry.position, at=at, kind=entry.kind, facts=entry.facts)
            for entry, at in found[:fits]
        ]
        more = len(entries) < len(found)
        return JournalPage(entries=tuple(entries), next=entries[-1].position if more and entries else None)

    async def on_pareto_front(self, ask: RequestContext, query: GetParetoFront) -> ParetoPage:
        """Return a page of the Pareto front, at most as many trials as fit into a reply."""
        async with self.database.read(ask.tenant) as connection:
            results = await pareto.load_results(connection, query.experiment_id)
        if results is None:
            raise NotFound(f"experiment {query.experiment_id}")
        if not results.bests:
            return ParetoPage(trials=(), total=0, admissible=0)
        config = load_accepted(results.config)
        chosen = await asyncio.to_thread(pareto_front_of, Objectives.of(config), results.bests)
        left = [place for place in chosen if query.after is None or place > query.after]
        numbers = [number for _, number in left[: max(1, min(query.limit, MOST_ENTRIES))]]
        async with self.database.read(ask.tenant) as connection:
            details = await pareto.load_pareto_trials(connection, query.experiment_id, numbers)
        metric = config.searcher.metric
        page = [
            _pareto_trial(metric, details[place[1]], place[1], chosen[place])
            for place in left[: len(numbers)]
        ]
        fits = fitting(trial.model_dump(mode="json") for trial in page)
        return ParetoPage(
            trials=tuple(page[:fits]),
            total=len(chosen),
            admissible=len(results.bests),
            next=left[fits - 1] if fits < len(left) else None,
        )

    async def on_references(self, ask: RequestContext, query: GetReferences) -> Referenced:
        """Return which of the checkpoints the trials of a live experiment start from."""
        async with self.database.read(ask.tenant) as connection:
            found = await entities.load_references(connection, query.checkpoints)
        return Referenced(checkpoints=found)


def _pareto_trial(
    metric: str, details: ParetoTrialDetails, number: int, best: ScoredValidation
) -> ParetoTrial:
    return ParetoTrial(
        trial_id=details.id,
        number=number,
        state=public_state(details.state),
        step=best.step,
        metrics={metric: best.value, **best.others},
        hyperparameters=details.point,
    )


def fitting(parts: Iterable[Mapping[str, JsonValue]]) -> int:
    """Return how many of these fit into one reply, at least one."""
    size = count = 0
    for part in parts:
        size += len(orjson.dumps(part)) + _FRAME_BYTES
        if count and size > PAGE_BYTES:
            break
        count += 1
    return count


def known_at_start(prior: PriorObservations, notes: tuple[str, ...]) -> PriorObservationsReply:
    """Return prior observations, the points first, then the trials that came furthest. A note says how many are left out."""
    trials = [asdict(trial) for trial in prior.known]
    whole = len(prior.points) + len(trials)
    count = fitting(chain(prior.points, trials))
    if count < whole:
        left = whole - count
        notes = (
            *notes,
            f"{left} of {whole} points and trials of earlier experiments exceed the reply's size",
        )
    return PriorObservationsReply(
        points=prior.points[:count],
        known=tuple(PriorTrial(**trial) for trial in trials[: max(0, count - len(prior.points))]),
        notes=notes,
    )
