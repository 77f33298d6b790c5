"""Attack: a request that a proxy and the gateway read differently: two credentials, or two values of one key."""

import grpc.aio
import httpx
import pytest

from tests.integration.gateway.conftest import Gateway


async def test_two_authorization_headers_are_refused(gateway: Gateway) -> None:
    right, wrong = f"Bearer {gateway.admin_token}", "Bearer mst_wrong"
    async with gateway.client("") as anyone:
        for pair in ((right, wrong), (wrong, right), (right, right)):
            answer = await anyone.get("/v1/me", headers=[("Authorization", one) for one in pair])
            assert (answer.status_code, answer.json()["code"]) == (400, "ambiguous_credentials"), answer.text


async def test_two_authorization_entries_of_a_grpc_call_are_refused(gateway: Gateway) -> None:
    pair = [("authorization", f"Bearer {gateway.admin_token}")] * 2
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        call = channel.unary_unary("/muster.v1.Muster/GetMe", bytes, bytes)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"", metadata=pair)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "authorization" in (caught.value.details() or "").lower()


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"name": "one", "name": "two"}', "name"),
        ('{"name": "one", "n\\u0061me": "two"}', "name"),
        ('{"name": "one", "labels": [1, {"a": {"b": 1, "b": 2}}]}', "labels[1].a.b"),
        ('{"name": {"a": 1, "a": 2}, "name": "two"}', "name"),
    ],
)
async def test_a_repeated_json_key_is_refused(api: httpx.AsyncClient, body: str, place: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await api.post("/v1/users", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "duplicate_key"), answer.text
    assert answer.json()["place"] == place
