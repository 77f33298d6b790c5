"""Attack: a stranger sends wrong passwords for an account to keep its owner out."""

import httpx
from redis.asyncio import Redis

from deploy.embedded.servers import RedisServer
from tests.integration.gateway.conftest import Gateway

PASSWORD, WRONG = "correct horse battery", "another staple entirely"


def client_from(gateway: Gateway, address: str) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(local_address=address)
    return httpx.AsyncClient(base_url=gateway.url, transport=transport, timeout=30)


async def test_wrong_passwords_from_elsewhere_do_not_lock_out_the_owner(
    gateway: Gateway, api: httpx.AsyncClient
) -> None:
    assert (await api.post("/v1/users", json={"name": "owner"})).status_code == 201
    answer = await api.put("/v1/users/owner/password", json={"password": PASSWORD})
    assert answer.status_code == 200, answer.text
    async with client_from(gateway, "127.0.0.2") as stranger, client_from(gateway, "127.0.0.3") as owner:
        wrong, right = {"user": "owner", "password": WRONG}, {"user": "owner", "password": PASSWORD}
        codes = [(await stranger.post("/v1/sessions", json=wrong)).status_code for _ in range(30)]
        assert codes[:10] == [401] * 10 and codes[-1] == 429
        assert (await stranger.post("/v1/sessions", json=right)).status_code == 429
        assert (await owner.post("/v1/sessions", json=right)).status_code == 200


async def test_many_strangers_do_not_lock_out_the_owner_at_a_known_address(
    gateway: Gateway, api: httpx.AsyncClient, redis_server: RedisServer
) -> None:
    """Eight addresses can use up the limit of the account alone; here the test empties its bucket, which saves 300 verifications."""
    assert (await api.post("/v1/users", json={"name": "watched"})).status_code == 201
    answer = await api.put("/v1/users/watched/password", json={"password": PASSWORD})
    assert answer.status_code == 200, answer.text
    wrong, right = {"user": "watched", "password": WRONG}, {"user": "watched", "password": PASSWORD}
    async with client_from(gateway, "127.0.1.1") as owner, client_from(gateway, "127.0.1.2") as elsewhere:
        assert (await owner.post("/v1/sessions", json=right)).status_code == 200
        async with Redis.from_url(redis_server.url) as redis:
            for bucket in await redis.keys("muster:attempt:account:*"):
                await redis.hset(bucket, "tokens", "0")
        assert (await elsewhere.post("/v1/sessions", json=right)).status_code == 429
        assert (await owner.post("/v1/sessions", json=right)).status_code == 200
        codes = [(await owner.post("/v1/sessions", json=wrong)).status_code for _ in range(12)]
        assert codes[-1] == 429, "guesses at the known address are limited as at any other"
