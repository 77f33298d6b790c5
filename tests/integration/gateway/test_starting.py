"""Experiments that start from trained weights: what they name is found at the submission and kept as it was."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from muster.config import load_config
from shared.clock import SystemClock
from shared.ids import DEFAULT_TENANT, new_id
from shared.messages.checkpoints import CheckpointPage, CheckpointView, ListCheckpoints
from shared.messages.models import ModelChanged
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import Seeded, seed
from tests.support.waiting import eventually

CONFIG: dict[str, Any] = {
    "name": "again",
    "entrypoint": "python3 -m train",
    "searcher": {"name": "single", "metric": "loss"},
}


@pytest.fixture(scope="module")
async def seeded(gateway: Gateway, others: Others) -> Seeded:
    async with gateway.client() as api:
        return await seed(api, others)


@pytest.fixture
def stored(others: Others, seeded: Seeded) -> dict[UUID, str]:
    """States of checkpoints, as the registry tells them."""
    states = {UUID(str(seeded.checkpoint)): "saved"}

    def answer(ask: Any, query: ListCheckpoints) -> CheckpointPage:
        state = states.get(UUID(str(query.checkpoint_id)))
        if state is None:
            return CheckpointPage(checkpoints=())
        view = CheckpointView.model_validate(
            {
                "checkpoint_id": query.checkpoint_id,
                "trial_id": seeded.trial,
                "experiment_id": seeded.experiment["id"],
                "run_number": 1,
                "step": 5,
                "state": state,
                "files": (),
                "size_bytes": 3,
                "created_at": datetime.now(UTC),
            }
        )
        return CheckpointPage(checkpoints=(view,))

    others.say(ListCheckpoints, answer)
    return states


async def submit(api: httpx.AsyncClient, **searcher: Any) -> httpx.Response:
    config = CONFIG | {"searcher": CONFIG["searcher"] | searcher}
    return await api.post("/v1/experiments", json={"config": config})


def model_of(seeded: Seeded) -> str:
    return f"model-{seeded.experiment['number']}"


@pytest.mark.parametrize("version", ["", "@1", "@latest", "@champion"])
async def test_a_model_is_kept_as_the_version_and_checkpoint_that_it_was(
    api: httpx.AsyncClient, seeded: Seeded, stored: dict[UUID, str], version: str
) -> None:
    made = await submit(api, source_model=model_of(seeded) + version)
    assert made.status_code == 201, made.text
    searcher = made.json()["config"]["searcher"]
    assert searcher["source_model"] == f"{model_of(seeded)}@1"
    assert searcher["source_checkpoint_uuid"] == str(seeded.checkpoint)
    assert load_config(made.json()["config"]).searcher.source_model == searcher["source_model"]


async def test_a_fork_starts_from_the_same_weights_unless_it_names_others(
    api: httpx.AsyncClient, seeded: Seeded, stored: dict[UUID, str]
) -> None:
    other = new_id(SystemClock())
    stored[other] = "saved"
    made = (await submit(api, source_model=f"{model_of(seeded)}@1")).json()
    same = await api.post(f"/v1/experiments/{made['number']}/fork", json={"overrides": {}})
    assert same.status_code == 201, same.text
    assert same.json()["config"]["searcher"] == made["config"]["searcher"]
    changed = {"overrides": {"searcher": {"source_checkpoint_uuid": str(other)}}}
    fork = (await api.post(f"/v1/experiments/{made['number']}/fork", json=changed)).json()
    assert fork["config"]["searcher"]["source_checkpoint_uuid"] == str(other)
    assert fork["config"]["searcher"]["source_model"] is None


async def test_what_is_not_there_is_refused_at_its_place(
    api: httpx.AsyncClient, seeded: Seeded, stored: dict[UUID, str]
) -> None:
    absent = str(new_id(SystemClock()))
    model = model_of(seeded)
    for searcher, place, code in (
        ({"source_model": "nobodys"}, "searcher.source_model", "model_unknown"),
        ({"source_model": f"{model}@7"}, "searcher.source_model", "model_unknown"),
        ({"source_model": f"{model}@contender"}, "searcher.source_model", "model_unknown"),
        ({"source_model": "a@b@c"}, "searcher.source_model", "invalid_value"),
        ({"source_checkpoint_uuid": absent}, "searcher.source_checkpoint_uuid", "checkpoint_unknown"),
        (
            {"source_model": model, "source_checkpoint_uuid": absent},
            "searcher.source_checkpoint_uuid",
            "start_ambiguous",
        ),
    ):
        refused = await submit(api, **searcher)
        assert (refused.status_code, refused.json()["place"], refused.json()["code"]) == (422, place, code), (
            refused.text
        )
    stored[UUID(str(seeded.checkpoint))] = "deleted"
    refused = await submit(api, source_model=model)
    assert refused.status_code == 422 and "is deleted" in refused.text


async def test_an_alias_that_moves_on_leaves_an_experiment_as_it_is(
    api: httpx.AsyncClient, others: Others, seeded: Seeded, stored: dict[UUID, str]
) -> None:
    model = model_of(seeded)
    made = (await submit(api, source_model=f"{model}@champion")).json()
    moved = ModelChanged(
        model_id=seeded.model,
        version=3,
        name=model,
        description="",
        metadata={},
        versions=1,
        aliases={},
        created_at=datetime.now(UTC),
        by="admin",
    )
    await others.announce("registry", DEFAULT_TENANT, moved)

    async def is_gone() -> bool:
        return (await submit(api, source_model=f"{model}@champion")).status_code == 422

    await eventually(is_gone)
    assert (await api.get(f"/v1/experiments/{made['number']}")).json()["config"] == made["config"]


async def test_who_sees_a_model_starts_from_it_though_its_trial_was_elsewhere(
    gateway: Gateway, api: httpx.AsyncClient, others: Others, stored: dict[UUID, str]
) -> None:
    """Its files can be downloaded with the same right. A checkpoint that is named itself is its experiment's."""
    one = await seed(api, others)
    stored[one.checkpoint] = "saved"
    there = ModelChanged(
        model_id=one.model,
        version=3,
        name=model_of(one),
        workspace="speech",
        description="",
        metadata={},
        versions=1,
        created_at=datetime.now(UTC),
        by="admin",
    )
    await others.announce("registry", DEFAULT_TENANT, there)

    async def is_there() -> bool:
        return (await api.get(f"/v1/models/speech%2F{model_of(one)}")).status_code == 200

    await eventually(is_there)
    for path, body in (
        ("/v1/users", {"name": "sam"}),
        ("/v1/role-bindings", {"role": "editor", "user": "sam", "workspace": "speech"}),
    ):
        assert (await api.post(path, json=body)).status_code == 201
    secret = (await api.post("/v1/users/sam/tokens", json={"name": "sam"})).json()["secret"]
    answers = []
    async with gateway.client(secret) as sam:
        for start in ({"source_model": model_of(one)}, {"source_checkpoint_uuid": str(one.checkpoint)}):
            searcher = CONFIG["searcher"] | start
            config = CONFIG | {"workspace": "speech", "project": "again", "searcher": searcher}
            answers.append(await sam.post("/v1/experiments", json={"config": config}))
    started, refused = answers
    assert started.status_code == 201, started.text
    assert refused.status_code == 422 and refused.json()["code"] == "checkpoint_unknown"
