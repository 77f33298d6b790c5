"""The Pareto front as callers see it: pages in one order, by REST and gRPC alike."""

from typing import Any
from uuid import UUID

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.errors import NotFound
from shared.ids import DEFAULT_TENANT, TrialId, derived_id
from shared.messages import experiments as messages
from tests.integration.gateway.conftest import Gateway, Others
from tests.support.waiting import eventually

CONFIG = """\
entrypoint: python3 -m train
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
searcher:
  name: random
  max_trials: 9
  metrics: [{name: accuracy, smaller_is_better: false}, {name: size}]
  limits: [latency_ms <= 20]
"""


@pytest.fixture
async def experiment(gateway: Gateway) -> dict[str, Any]:
    async with gateway.client() as api:
        answer = await api.post("/v1/experiments", json={"config_yaml": CONFIG})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def on_front(experiment: UUID, number: int) -> messages.ParetoTrial:
    return messages.ParetoTrial(
        trial_id=TrialId(derived_id(experiment, "trial", number)),
        number=number,
        state="completed",
        step=5,
        metrics={"accuracy": 1 - number / 10, "size": 10.0 - number, "latency_ms": 3.0},
        hyperparameters={"lr": number / 10},
    )


def answering(others: Others) -> None:
    """The searcher has three trials on the front."""

    def answer(_: Any, query: messages.GetParetoFront) -> messages.ParetoPage:
        places = [(-0.9, 1), (-0.8, 2), (-0.7, 3)]
        left = [place for place in places if query.after is None or place > query.after]
        page = left[: query.limit]
        return messages.ParetoPage(
            trials=tuple(on_front(query.experiment_id, number) for _, number in page),
            total=3,
            admissible=7,
            next=page[-1] if len(page) < len(left) else None,
        )

    others.say(messages.GetParetoFront, answer)


async def test_a_front_comes_in_pages(gateway: Gateway, others: Others, experiment: dict[str, Any]) -> None:
    answering(others)
    path = f"/v1/experiments/{experiment['number']}/front"
    async with gateway.client() as api:
        first = (await api.get(path, params={"limit": 2})).json()
        second = (await api.get(path, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [one["trial_number"] for one in first["items"] + second["items"]] == [1, 2, 3]
    assert (first["total"], first["admissible"], second["next_cursor"]) == (3, 7, None)
    assert first["items"][0]["metrics"] == {"accuracy": 0.9, "size": 9.0, "latency_ms": 3.0}


async def test_the_same_by_grpc(gateway: Gateway, others: Others, experiment: dict[str, Any]) -> None:
    answering(others)
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        found = await stub.ListExperimentFront(
            muster_pb2.ListFrontRequest(experiment=experiment["id"]),
            metadata=(("authorization", f"Bearer {gateway.admin_token}"),),
        )
    assert [one.trial_number for one in found.items] == [1, 2, 3]
    assert dict(found.items[2].metrics)["size"] == 7.0


async def test_an_experiment_that_is_not_taken_up_yet_has_an_empty_front(
    gateway: Gateway, others: Others, experiment: dict[str, Any]
) -> None:
    others.say(messages.GetParetoFront, NotFound("the experiment"))
    async with gateway.client() as api:
        answer = await api.get(f"/v1/experiments/{experiment['id']}/front")
        missing = await api.get("/v1/experiments/99999/front")
    assert (answer.status_code, answer.json()["items"]) == (200, [])
    assert missing.status_code == 404


async def test_the_best_is_shown_with_all_that_counts(
    gateway: Gateway, others: Others, experiment: dict[str, Any]
) -> None:
    best = messages.BestTrial(
        trial_id=TrialId(derived_id(UUID(experiment["id"]), "trial", 2)),
        trial_number=2,
        step=5,
        value=0.8,
        others={"size": 8.0, "latency_ms": 3.0},
    )
    changed = messages.ExperimentChanged(
        experiment_id=experiment["id"],
        version=2,
        number=experiment["number"],
        state="active",
        best=best,
        started_at=experiment["created_at"],
    )
    await others.announce("searcher", DEFAULT_TENANT, changed)

    async def shown(api: httpx.AsyncClient) -> bool:
        found = (await api.get(f"/v1/experiments/{experiment['id']}")).json()["best"]
        return bool(found and found["others"] == {"size": 8.0, "latency_ms": 3.0})

    async with gateway.client() as api:
        await eventually(lambda: shown(api))


async def test_what_is_left_of_a_rate_is_told_over_both_protocols(gateway: Gateway) -> None:
    async with gateway.client() as api:
        answers = [
            await api.get("/v1/me"),
            await api.get("/v1/experiments/99999"),
            await api.get("/v1/health"),
        ]
    assert [answer.status_code for answer in answers] == [200, 404, 200]
    for answer in answers[:2]:
        assert answer.headers["ratelimit-policy"] == '"read";q=10000;w=2'
        assert answer.headers["ratelimit"].startswith('"read";r=')
    assert "ratelimit" not in answers[2].headers
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        asked = muster_pb2_grpc.MusterStub(channel).GetMe(
            muster_pb2.Empty(), metadata=(("authorization", f"Bearer {gateway.admin_token}"),)
        )
        await asked
        told = dict(await asked.trailing_metadata())
    assert told["ratelimit-policy"] == '"read";q=10000;w=2' and "ratelimit" in told
