"""What an answer shows: the fields that are named, and those that are told to who asks for them."""

from typing import Any

import grpc
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2
from services.gateway.transports.grpc.stubs.muster_pb2_grpc import MusterStub
from shared.ids import DEFAULT_TENANT
from shared.messages import experiments as messages
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import eventually


async def test_only_the_fields_that_are_named_are_shown_over_either_protocol(
    api: httpx.AsyncClient, gateway: Gateway
) -> None:
    made = await create(api, name="masked")
    path = f"/v1/experiments/{made['number']}"
    whole = await api.get(path)
    shown = await api.get(path, params={"fields": "name,config.searcher.metric,trials.running"})
    assert shown.json() == {
        "name": "masked",
        "config": {"searcher": {"metric": "accuracy"}},
        "trials": {"running": 0},
    }
    assert shown.headers["etag"] == whole.headers["etag"]
    listed = (await api.get("/v1/experiments", params={"fields": "number,state", "limit": 1})).json()
    assert listed["items"] == [{"number": made["number"], "state": "submitted"}] and "next_cursor" in listed
    for refused in (
        await api.get(path, params={"fields": "nmae"}),
        await api.get("/v1/me", params={"fields": ""}),
    ):
        assert (refused.status_code, refused.json()["place"]) == (422, "fields"), refused.text
    not_there = await api.post(f"{path}/archive", params={"fields": "name"}, json={})
    assert not_there.status_code == 400
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub: Any = MusterStub(channel)
        token = ("authorization", f"Bearer {gateway.admin_token}")
        request = muster_pb2.ExperimentRequest(experiment=str(made["number"]))
        found = await stub.GetExperiment(request, metadata=(token, ("fields", "name,trials.running")))
        assert (found.name, found.number, found.HasField("config")) == ("masked", 0, False)
        with pytest.raises(grpc.aio.AioRpcError, match="unknown field 'nmae'"):
            await stub.GetExperiment(request, metadata=(token, ("fields", "nmae")))


async def test_hyperparameters_of_the_best_trials_are_told_where_they_are_asked_for(
    api: httpx.AsyncClient, others: Others
) -> None:
    made, beside = await create(api, name="pointed"), await create(api, name="pointed")
    trial = trial_changed(made, 0)
    best = messages.BestTrial(trial_id=trial.trial_id, trial_number=0, step=1, value=0.5)
    await others.announce("searcher", DEFAULT_TENANT, trial, changed(made, 1, best=best))

    async def listed(**asked: Any) -> dict[int, Any]:
        page = (await api.get("/v1/experiments", params={"filter": "name = pointed", **asked})).json()
        return {one["number"]: (one["best"] is not None, one["hyperparameters"]) for one in page["items"]}

    async def told() -> bool:
        return bool((await listed(hyperparameters=True))[made["number"]] == (True, {"lr": 0.1}))

    await eventually(told)
    assert (await listed(hyperparameters=True))[beside["number"]] == (False, None)
    assert (await listed())[made["number"]] == (True, None)
