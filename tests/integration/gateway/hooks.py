"""Webhooks in tests: a gateway that may call this machine and soon gives up, and what is asked of it."""

from typing import Any

import httpx

from shared.messages.experiments import ExperimentChanged
from tests.integration.gateway.receiving import Receiver
from tests.integration.gateway.seeding import CONFIG, NOW
from tests.integration.gateway.sites import made

QUICK = {
    "MUSTER_GATEWAY__WEBHOOKS__ALLOWED_NETWORKS": '["127.0.0.1/32"]',
    "MUSTER_GATEWAY__WEBHOOKS__TIMEOUT_S": "1",
    "MUSTER_GATEWAY__WEBHOOKS__INITIAL_BACKOFF_S": "0.1",
    "MUSTER_GATEWAY__WEBHOOKS__MAX_BACKOFF_S": "0.2",
    "MUSTER_GATEWAY__WEBHOOKS__GIVE_UP_AFTER_S": "2",
}


async def hook(api: httpx.AsyncClient, receiver: Receiver, path: str, **more: Any) -> dict[str, Any]:
    """A webhook to a path of the receiver."""
    return await made(api, "/v1/webhooks", {"name": path, "url": f"{receiver.url}{path}", **more})


async def submitted(api: httpx.AsyncClient, more: str = "") -> dict[str, Any]:
    return await made(api, "/v1/experiments", {"config_yaml": CONFIG + more})


def experiment_changed(
    experiment: dict[str, Any], version: int, state: str, **more: Any
) -> ExperimentChanged:
    values = {"experiment_id": experiment["id"], "version": version, "number": experiment["number"]}
    return ExperimentChanged.model_validate(values | {"state": state, "started_at": NOW} | more)


async def deliveries(api: httpx.AsyncClient, made_hook: dict[str, Any], **query: str) -> list[dict[str, Any]]:
    answer = await api.get(f"/v1/webhooks/{made_hook['id']}/deliveries", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found
