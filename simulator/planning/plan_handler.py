"""Answers `qry simulator.plan`: queries the inputs, has a player simulate the search, and summarises the futures.

The answer belongs to the asking tenant: earlier trials are its own, and other tenants appear as numbers only.
"""

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
from shared.messages.trial_specs import UNCATEGORIZED
from simulator.files.reading import read_cluster_document
from simulator.files.schema import Policy
from simulator.planning.pool_snapshot import PoolSnapshot, snapshot_of
from simulator.planning.simulation_workers import SimulationWorkers
from simulator.planning.summary import summarize
from simulator.planning.worker_protocol import Question

T = TypeVar("T")
ASK_S = 3.0
MOST_FUTURES = 200
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Answers:
    """Stateless between questions."""

    bus: Bus
    workers: SimulationWorkers

    def answers(self) -> Mapping[Asked, Answer]:
        return {PlanExperiment: self.plan}

    async def plan(self, ask: RequestContext, query: PlanExperiment) -> ExperimentPlan:
        """Plan an experiment.

        Raises:
            Rejected: The experiment cannot be planned; names the key.
            Transient: All players are busy for too long.
        """
        snapshot, earlier, start = await asyncio.gather(
            self._snapshot(ask, query), self._earlier(ask, query), self._start(ask, query)
        )
        question = Question(
            config=query.config,
            cluster=snapshot.cluster,
            policy=snapshot.policy,
            background_jobs=snapshot.background_jobs,
            earlier=earlier,
            start=start,
            steps=query.steps,
            step_s=query.step_s,
            futures=max(1, min(query.futures, MOST_FUTURES)),
        )
        played = await self.workers.play(question, ask.deadline_s)
        price = snapshot.price if query.price_per_slot_hour is None else query.price_per_slot_hour
        is_cut = len(played.futures) < question.futures
        return summarize(
            snapshot.label, played.basics, played.futures, snapshot.background_jobs, price, is_cut
        )

    async def _snapshot(self, ask: RequestContext, query: PlanExperiment) -> PoolSnapshot:
        if query.cluster is not None:
            return _described(query.cluster)
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
        """Return the search's prior observations; none if they are unavailable. Raises Rejected if an
        experiment does not exist."""
        warm_start = getattr(load_config(query.config).searcher, "warm_start", None)
        if warm_start is None or not warm_start.experiments:
            return PriorObservationsReply()
        found = await _unless_away(self.bus.ask(GetPriorObservations(config=query.config), ask.tenant, ASK_S))
        return found or PriorObservationsReply(
            notes=("the prior observations from earlier experiments are unavailable and were left out",)
        )


def _metrics(query: PlanExperiment) -> tuple[str, str | None]:
    """Return the metric that ranks trials, and the time metric."""
    searcher = load_config(query.config).searcher
    time_metric = searcher.time_metric if isinstance(searcher, Timed) else "step"
    return searcher.metric, None if time_metric == "step" else time_metric


def _described(document: dict[str, JsonValue]) -> PoolSnapshot:
    """Return the machines that the caller has described."""
    cluster = read_cluster_document(document, "cluster")
    machines = sum(one.count for one in cluster.machines)
    slots = sum(one.count * one.slots for one in cluster.machines)
    return PoolSnapshot(f"the described machines, {slots} slots on {machines}", cluster, Policy())


async def _unless_away(answer: Awaitable[T]) -> T | None:
    """Return None if an optional source is unavailable."""
    try:
        return await answer
    except (Transient, TimeoutError) as error:
        _log.warning("a source for a plan is unavailable", error=str(error))
        return None
