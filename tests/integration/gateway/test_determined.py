"""Configs of Determined over the API: taken, with what differs in the answer, and no secret shown again."""

from typing import Any
from uuid import UUID

import httpx

from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import Accepted, SubmissionCommitted, ValidateConfig
from shared.messages.plans import ExperimentPlan, PlanExperiment, Spread
from shared.messages.queue import Placeable, ValidatePlacement
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.test_experiments import changed
from tests.support.waiting import eventually

CONFIG = """
name: from determined
entrypoint: python3 -m train
data: {path: /data, secrets: {token: s3cr3t-data}}
environment: {image: determinedai/environments, registry_auth: {username: u, password: s3cr3t-pass}}
checkpoint_storage: {type: s3, bucket: b, secret_key: s3cr3t-key, save_trial_best: 2}
scheduling_unit: 10
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
searcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_length: {epochs: 4}}
"""
NAMED = {
    "environment.image",
    "environment.registry_auth",
    "checkpoint_storage.type",
    "checkpoint_storage.bucket",
    "checkpoint_storage.secret_key",
    "scheduling_unit",
    "searcher.max_length",
}
SPREAD = Spread(low=1.0, middle=2.0, high=3.0)


def named(answer: dict[str, Any]) -> set[str]:
    return {warning.split(":")[0].split(" ")[0] for warning in answer["warnings"]}


async def test_a_config_of_determined_is_taken_and_what_differs_is_named(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(ValidateConfig, Accepted())
    others.say(ValidatePlacement, Placeable(warnings=("slow",)))
    answer = await api.post("/v1/experiments", json={"config_yaml": CONFIG})
    others.say(ValidatePlacement, Placeable())
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert named(made) == NAMED | {"slow"}
    assert made["config"]["checkpoint_storage"]["save_trial_best"] == 2
    assert made["config"]["searcher"]["max_time"] == 4
    again = await api.get(f"/v1/experiments/{made['number']}")
    assert again.json()["warnings"] == made["warnings"]
    for shown in (answer.text, again.text):
        assert "s3cr3t" not in shown
    assert made["config_yaml"] is None
    assert made["config"]["data"] == {"path": "/data", "secrets": {"token": "********"}}


async def test_trials_get_the_secrets_that_people_do_not_see_also_in_a_fork(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = (await api.post("/v1/experiments", json={"config_yaml": CONFIG})).json()
    fork = await api.post(f"/v1/experiments/{made['number']}/fork", json={"overrides": {"max_restarts": 1}})
    assert fork.status_code == 201, fork.text
    assert "s3cr3t" not in fork.text
    seen: list[SubmissionCommitted] = []

    async def arrived() -> bool:
        subject = SubmissionCommitted.subject(DEFAULT_TENANT)
        found = await others.buses["admin"].jetstream.get_last_msg("EVT", subject)
        seen.append(SubmissionCommitted.from_bytes(found.data or b""))
        return seen[-1].experiment_id == UUID(fork.json()["id"])

    await eventually(arrived)
    assert seen[-1].config["data"] == {"path": "/data", "secrets": {"token": "s3cr3t-data"}}
    assert "s3cr3t-key" not in str(seen[-1].config)


async def test_a_plan_warns_of_what_the_submission_would(api: httpx.AsyncClient, others: Others) -> None:
    found = ExperimentPlan(
        on="m",
        basis="stated_model",
        futures=1,
        unit="epochs",
        trials=SPREAD,
        stopped=SPREAD,
        steps=SPREAD,
        slots=1.0,
    )
    others.say(PlanExperiment, found)
    answer = await api.post("/v1/plans", json={"config_yaml": CONFIG})
    assert answer.status_code == 200, answer.text
    assert named(answer.json()) == NAMED


async def test_what_only_a_container_has_is_refused_before_anything_is_made(api: httpx.AsyncClient) -> None:
    mounted = f"{CONFIG}bind_mounts: [{{host_path: /data, container_path: /mnt}}]\n"
    for path in ("/v1/experiments", "/v1/plans"):
        answer = await api.post(path, json={"config_yaml": mounted})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_value")
        assert answer.json()["place"].startswith("bind_mounts")
        assert "applies to containers" in answer.json()["detail"]


async def test_a_single_training_that_recorded_nothing_completes_with_a_warning(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(ValidateConfig, Accepted())
    single = "entrypoint: python3 -m train\nsearcher: {name: single, metric: loss}\n"
    made = (await api.post("/v1/experiments", json={"config_yaml": single})).json()
    reason = "no trial reported searcher.metric 'loss' as a finite number"
    over = changed(made, 1, state="completed", final=True, reason=reason)
    await others.announce("searcher", DEFAULT_TENANT, over)
    path = f"/v1/experiments/{made['number']}"

    async def is_over() -> bool:
        return bool((await api.get(path)).json()["final"])

    await eventually(is_over)
    shown = (await api.get(path)).json()
    assert (shown["state"], shown["reason"], shown["warnings"]) == (
        "completed",
        reason,
        [*made["warnings"], reason],
    )
