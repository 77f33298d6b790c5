"""The simulator as a process of its own: it asks the owners, plays, and answers over the bus; one question does not hold up the next."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muster.config import load_config
from muster.errors import MusterError, Rejected, Transient
from shared.bus import Bus, RequestContext, Responder
from shared.errors import NotFound
from shared.ids import DEFAULT_TENANT, ExperimentId, PoolName, TenantId, TrialId, WorkerId, derived_id
from shared.messages.plans import (
    Curves,
    EarlierRun,
    ExperimentPlan,
    GetCurves,
    GetOutlook,
    GetPriorObservations,
    GetProvided,
    Outlook,
    OutlookRequest,
    PlanExperiment,
    PriorObservationsReply,
    ProvidedPools,
)
from shared.messages.pools import PoolView
from shared.messages.workers import WorkerView
from tests.integration.servers import Servers
from tests.support import warm
from tests.support.waiting import TIMEOUT_S, eventually
from tests.support.warm import Warm

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OTHER_TENANT = TenantId(derived_id(DEFAULT_TENANT, "other"))
CODE = "c" * 64
POOL = PoolView(
    pool=PoolName("gpus"),
    slot_kind="cuda",
    workers=1,
    slots=2,
    used_slots=1,
    waiting_slots=0,
    preemption=False,
    exclusive=True,
)
WORKER = WorkerView(
    worker=WorkerId("w"),
    pool=PoolName("gpus"),
    address="10.0.0.1",
    state="ready",
    slots=2,
    used_slots=1,
    slot_kind="cuda",
    last_heartbeat_at=NOW,
    isolated_user=True,
)
HELD = OutlookRequest(
    tenant=1, experiment=1, priority=42, slots=1, min_slots=1, workers={WorkerId("w"): 1}, rest_s=(9.0,) * 5
)
EARLIER = EarlierRun(
    trial_id=TrialId(derived_id(DEFAULT_TENANT, "trial")),
    experiment_id=ExperimentId(derived_id(DEFAULT_TENANT, "experiment")),
    number=1,
    hyperparameters={},
    slots=1,
    granted_at=NOW,
    ended_at=datetime(2026, 1, 1, 0, 0, 12, tzinfo=UTC),
    outcome="completed",
    times=(1.0, 2.0),
    at_ms=tuple(round(NOW.timestamp() * 1000) + at for at in (6000, 11_000)),
    values=(0.5, 0.4),
)


class Owners:
    """Scheduler, registry and provisioner, as far as a plan asks them."""

    def __init__(self) -> None:
        self.asked: list[tuple[TenantId, Any]] = []

    async def outlook(self, ask: RequestContext, query: GetOutlook) -> Outlook:
        self.asked.append((ask.tenant, query))
        if query.pool != "gpus":
            raise NotFound(f"pool {query.pool}")
        return Outlook(pool=POOL, workers=(WORKER,), requests=(HELD,), price_per_slot_hour=3.0)

    async def curves(self, ask: RequestContext, query: GetCurves) -> Curves:
        self.asked.append((ask.tenant, query))
        return Curves(runs=(EARLIER,) if ask.tenant == DEFAULT_TENANT else ())

    async def provided(self, ask: RequestContext, query: GetProvided) -> ProvidedPools:
        return ProvidedPools(pools=())

    async def prior_observations(
        self, ask: RequestContext, query: GetPriorObservations
    ) -> PriorObservationsReply:
        self.asked.append((ask.tenant, query))
        if query.config["searcher"]["warm_start"]["experiments"] != [3]:  # type: ignore[index,call-overload]
            raise Rejected(
                "experiment_unknown", "there is no experiment 4", "searcher.warm_start.experiments[0]"
            )
        return PriorObservationsReply(notes=("experiment 3 came to nothing",))


@pytest.fixture(scope="module")
async def owners(servers: Servers, nats_server: object) -> AsyncIterator[Owners]:
    found = Owners()
    answers: dict[str, dict[Any, Any]] = {
        "scheduler": {GetOutlook: found.outlook},
        "registry": {GetCurves: found.curves},
        "provisioner": {GetProvided: found.provided},
        "searcher": {GetPriorObservations: found.prior_observations},
    }
    buses = {
        name: await Bus.connect(servers.nats.url, name, servers.keys.credentials(name)) for name in answers
    }
    responders = [await Responder(buses[name], name, asked).__aenter__() for name, asked in answers.items()]
    yield found
    for responder in responders:
        await responder.__aexit__()
    for bus in buses.values():
        await bus.close()


@asynccontextmanager
async def simulator(environment: dict[str, str], **settings: str) -> AsyncIterator[Warm]:
    told = {**os.environ, **environment, **settings, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sdk'}"}
    process = await warm.start("simulator", told)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        assert await asyncio.wait_for(process.wait(), TIMEOUT_S) == 0


@pytest.fixture(scope="module")
async def gateway(servers: Servers, nats_server: object) -> AsyncIterator[Bus]:
    bus = await Bus.connect(servers.nats.url, "gateway", servers.keys.credentials("gateway"))
    yield bus
    await bus.close()


def plan(searcher: dict[str, Any], **more: Any) -> PlanExperiment:
    config = {
        "entrypoint": "python3 train.py",
        "hyperparameters": more.pop("space", {}),
        "searcher": {"metric": "loss", **searcher},
    }
    document = load_config(config).model_dump(mode="json", by_alias=True)
    return PlanExperiment.model_validate({"config": document, "pool": "gpus", "futures": 3, **more})


async def asked(bus: Bus, question: PlanExperiment, tenant: TenantId = DEFAULT_TENANT) -> ExperimentPlan:
    """Once somebody answers."""
    found: list[ExperimentPlan | MusterError] = []

    async def is_answered() -> bool:
        try:
            found.append(await bus.ask(question, tenant, 40.0))
        except Transient:
            return False
        except MusterError as error:
            found.append(error)
        return True

    await eventually(is_answered)
    if isinstance(found[0], MusterError):
        raise found[0]
    return found[0]


SINGLE = {"name": "single"}
LONG = {"name": "random", "max_trials": 5000}


async def test_it_asks_the_owners_plays_and_tells_only_the_askers_own(
    servers: Servers, owners: Owners, gateway: Bus, settings: Callable[[str], dict[str, str]]
) -> None:
    async with simulator(settings("simulator")):
        mine = await asked(gateway, plan(SINGLE, code_hash=CODE))
        assert (mine.basis, mine.earlier_runs, mine.others_running, mine.steps.middle) == (
            "earlier_trials",
            1,
            1,
            2,
        )
        assert mine.on == "pool gpus, 2 slots on 1 machine"
        assert mine.took_s and mine.took_s.middle == pytest.approx(9 + 12, abs=3), (
            "no two tenants share a machine here"
        )
        assert mine.cost and mine.slot_hours and mine.cost.middle == pytest.approx(3 * mine.slot_hours.middle)
        assert {tenant for tenant, _ in owners.asked} == {DEFAULT_TENANT}
        other = await asked(gateway, plan(SINGLE, code_hash=CODE, steps=4), OTHER_TENANT)
        assert (other.basis, other.took_s) == ("stated_model", None)
        alone = await asked(gateway, plan(SINGLE, steps=4, step_s=1.0, whole=True))
        assert (alone.others_running, alone.futures) == (0, 3)
        for question, place in (
            (plan(SINGLE), "searcher"),
            (plan(SINGLE, steps=4, cluster={"machines": [{"slots": 0}]}), "cluster.machines[0].slots"),
        ):
            with pytest.raises(Rejected) as refused:
                await asked(gateway, question)
            assert refused.value.place == place
        space = {"lr": {"type": "double", "minval": 0, "maxval": 1}}
        warm = {"name": "random", "max_trials": 2, "warm_start": {"experiments": [3]}}
        started = await asked(gateway, plan(warm, space=space, steps=2))
        assert "experiment 3 came to nothing" in started.notes
        warm["warm_start"] = {"experiments": [4]}
        with pytest.raises(Rejected, match="no experiment 4"):
            await asked(gateway, plan(warm, space=space, steps=2))
        with pytest.raises(NotFound, match="moon"):
            await asked(gateway, plan(SINGLE, steps=4, pool="moon"))


async def test_a_question_that_takes_long_holds_up_no_other(
    servers: Servers, owners: Owners, gateway: Bus, settings: Callable[[str], dict[str, str]]
) -> None:
    async with simulator(settings("simulator"), MUSTER_SIMULATOR__PLAN_S="50"):
        await asked(gateway, plan(SINGLE, steps=1, step_s=1.0))
        space = {"lr": {"type": "double", "minval": 0, "maxval": 1}}
        long = plan(LONG, space=space, steps=100_000, step_s=1.0)
        taking = asyncio.create_task(gateway.ask(long, DEFAULT_TENANT, 100.0))
        quick = await asked(gateway, plan(SINGLE, steps=1, step_s=1.0))
        assert quick.futures == 3 and not taking.done(), "it was answered while the other was played"
        taking.cancel()
