"""Answers `qry simulator.plan`: asks the owners what is known, has a player play the search, tells what the futures come to.

The answer is the asking tenant's: earlier trials are its own, and of others there are numbers only."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import structlog
from pydantic import JsonValue

from muster.config import Timed, load_config
from muster.errors import Transient
from shared.bus import Bus, RequestContext
from shared.bus.responder import Answer, Question as Asked
from shared.ids import SITE
from shared.messages.plans import (
    EarlierRun,
    ExperimentPlan,
    GetCurves,
    GetOutlook,
    GetPriorObservations,
    GetProvided,
    PlanExperiment,
    PriorObservationsReply,
    ProvidedPool,
)
from shared.messages.specs import UNCATEGORIZED
from simulator.files.reading import read_cluster_document
from simulator.files.schema import Policy
from simulator.planning.pool_snapshot import PoolSnapshot, snapshot_of
from simulator.planning.question import Question
from simulator.planning.simulation_workers import SimulationWorkers
from simulator.planning.summary import summarize

T = TypeVar("T")
ASK_S = 3.0
MOST_FUTURES = 200
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Answers:
    """Holds nothing between two questions."""

    bus: Bus
    players: SimulationWorkers

    def answers(self) -> Mapping[Asked, Answer]:
        return {PlanExperiment: self.plan}

    async def plan(self, ask: RequestContext, query: PlanExperiment) -> ExperimentPlan:
        """Raises Rejected for what cannot be foretold, with the key; Transient where all players are busy for too long."""
        standing, earlier, start = await asyncio.gather(
            self._standing(ask, query), self._earlier(ask, query), self._start(ask, query)
        )
        question = Question(
            config=query.config,
            cluster=standing.cluster,
            policy=standing.policy,
            crowd=standing.crowd,
            earlier=earlier,
            start=start,
            steps=query.steps,
            step_s=query.step_s,
            futures=max(1, min(query.futures, MOST_FUTURES)),
        )
        played = await self.players.play(question, ask.deadline_s)
        price = standing.price if query.price_per_slot_hour is None else query.price_per_slot_hour
        is_cut = len(played.futures) < question.futures
        return summarize(standing.label, played.basics, played.futures, standing.crowd, price, is_cut)

    async def _standing(self, ask: RequestContext, query: PlanExperiment) -> PoolSnapshot:
        if query.cluster is not None:
            return _told(query.cluster)
        workspace = query.config.get("workspace") or UNCATEGORIZED
        question = GetOutlook(pool=query.pool, workspace=str(workspace))
        outlook, provided = await asyncio.gather(
            self.bus.ask(question, ask.tenant, ASK_S), _unless_away(self.bus.ask(GetProvided(), SITE, ASK_S))
        )
        pools: tuple[ProvidedPool, ...] = provided.pools if provided else ()
        mine = next((one for one in pools if one.pool == query.pool), None)
        return snapshot_of(outlook, mine, query.whole)

    async def _earlier(self, ask: RequestContext, query: PlanExperiment) -> tuple[EarlierRun, ...]:
        if query.code_hash is None:
            return ()
        metric, time_metric = _metrics(query)
        question = GetCurves(code_hash=query.code_hash, metric=metric, time_metric=time_metric)
        found = await _unless_away(self.bus.ask(question, ask.tenant, ASK_S))
        return found.runs if found else ()

    async def _start(self, ask: RequestContext, query: PlanExperiment) -> PriorObservationsReply:
        """What the search would know; of a plan that cannot ask for it, nothing. Raises Rejected: there is no such experiment."""
        warm_start = getattr(load_config(query.config).searcher, "warm_start", None)
        if warm_start is None or not warm_start.experiments:
            return PriorObservationsReply()
        found = await _unless_away(self.bus.ask(GetPriorObservations(config=query.config), ask.tenant, ASK_S))
        return found or PriorObservationsReply(
            notes=("what the search knows of earlier experiments could not be asked",)
        )


def _metrics(query: PlanExperiment) -> tuple[str, str | None]:
    """The metric that ranks, and the time metric."""
    searcher = load_config(query.config).searcher
    time_metric = searcher.time_metric if isinstance(searcher, Timed) else "step"
    return searcher.metric, None if time_metric == "step" else time_metric


def _told(document: dict[str, JsonValue]) -> PoolSnapshot:
    """Machines that the asker has described."""
    cluster = read_cluster_document(document, "cluster")
    machines = sum(one.count for one in cluster.machines)
    slots = sum(one.count * one.slots for one in cluster.machines)
    return PoolSnapshot(f"machines as described, {slots} slots on {machines}", cluster, Policy())


async def _unless_away(answer: Awaitable[T]) -> T | None:
    """What helps an answer and is not needed for one."""
    try:
        return await answer
    except (Transient, TimeoutError) as error:
        _log.warning("an owner could not be asked for a plan", error=str(error))
        return None
