"""Plans over the API: checked as a submission is, answered by the simulator, and nothing is submitted."""

from typing import Any

import grpc.aio
import httpx
import pytest

from muster.errors import Rejected
from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.bus import RequestContext
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import Accepted, ValidateConfig
from shared.messages.plans import ExperimentPlan, PlanExperiment, RungTrials, Spread
from shared.messages.queue import Placeable, ValidatePlacement
from tests.integration.gateway.conftest import Gateway, Others

CONFIG: dict[str, Any] = {
    "entrypoint": "python3 -m train",
    "hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1}},
    "searcher": {"name": "random", "metric": "loss", "max_trials": 3},
}
SPREAD = Spread(low=1.0, middle=2.0, high=3.0)
FOUND = ExperimentPlan(
    on="pool gpus, 8 slots on 2 machines",
    basis="stated_model",
    futures=5,
    unit="step",
    trials=SPREAD,
    stopped=SPREAD,
    rungs=(RungTrials(at=9.0, trials=SPREAD),),
    steps=SPREAD,
    slots=0.5,
    took_s=SPREAD,
)


@pytest.fixture
def asked(others: Others) -> list[tuple[RequestContext, PlanExperiment]]:
    """What the simulator was asked."""
    found: list[tuple[RequestContext, PlanExperiment]] = []

    def answer(ask: RequestContext, query: PlanExperiment) -> ExperimentPlan:
        found.append((ask, query))
        return FOUND

    others.say(PlanExperiment, answer)
    others.say(ValidateConfig, Accepted())
    others.say(ValidatePlacement, Placeable())
    return found


async def test_a_plan_is_the_simulators_for_the_callers_tenant(
    api: httpx.AsyncClient, asked: list[tuple[RequestContext, PlanExperiment]]
) -> None:
    before = (await api.get("/v1/experiments")).json()["items"]
    body = {"config": CONFIG, "code_sha256": "a" * 64, "pool": "gpus", "step_s": 2.5, "futures": 5}
    answer = await api.post("/v1/plans", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["on"], told["basis"], told["slots"], told["cost"]) == (FOUND.on, "stated_model", 0.5, None)
    assert told["rungs"] == [{"at": 9.0, "trials": {"low": 1.0, "middle": 2.0, "high": 3.0}}]
    ((ask, query),) = asked
    assert ask.tenant == DEFAULT_TENANT
    assert (query.pool, query.code_hash, query.step_s, query.futures) == ("gpus", "a" * 64, 2.5, 5)
    assert query.config["searcher"]["name"] == "random"  # type: ignore[index,call-overload]
    assert (await api.get("/v1/experiments")).json()["items"] == before


async def test_it_is_answered_by_grpc_alike(
    gateway: Gateway, asked: list[tuple[RequestContext, PlanExperiment]]
) -> None:
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        request = muster_pb2.PlanExperimentRequest(
            config_yaml="{entrypoint: x, searcher: {name: single, metric: l}}"
        )
        told = await stub.PlanExperiment(
            request, metadata=(("authorization", f"Bearer {gateway.admin_token}"),)
        )
    assert (told.on, told.took_s.middle, told.rungs[0].at) == (FOUND.on, 2.0, 9.0)
    assert asked[0][1].pool == "default"


async def test_what_a_submission_would_be_refused_for_a_plan_is_refused_for(
    api: httpx.AsyncClient, others: Others, asked: list[tuple[RequestContext, PlanExperiment]]
) -> None:
    wrong = {**CONFIG, "searcher": {**CONFIG["searcher"], "max_trials": 0}}
    for body, place in (
        ({"config": wrong}, "searcher.max_trials"),
        ({}, "config"),
        ({"config": CONFIG, "step_s": 0}, "step_s"),
        ({"config": CONFIG, "futures": 1000}, "futures"),
    ):
        answer = await api.post("/v1/plans", json=body)
        assert answer.status_code in (400, 422), answer.text
        assert answer.json()["place"] == place, answer.text
    others.say(ValidateConfig, Rejected("invalid_value", "no point meets it", "constraints[0]"))
    for path in ("/v1/plans", "/v1/experiments"):
        answer = await api.post(path, json={"config": {**CONFIG, "name": "unmet"}})
        assert answer.json()["place"] == "constraints[0]", path
    others.say(ValidateConfig, Accepted())
    others.say(
        ValidatePlacement, Rejected("pool_unknown", "pool moon does not exist", "resources.resource_pool")
    )
    answer = await api.post("/v1/plans", json={"config": CONFIG, "pool": "moon"})
    assert answer.json()["code"] == "pool_unknown"
    described = {"config": CONFIG, "pool": "moon", "cluster": {"machines": [{"slots": 1}]}}
    assert (await api.post("/v1/plans", json=described)).status_code == 200, "no pool is asked for then"
    assert len(asked) == 1
