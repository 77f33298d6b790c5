"""Reports a Redis server that is older than the supported ones: it lacks fixes and limits that a server reachable by network needs."""

import re
from collections.abc import Mapping, Sequence

from redis.asyncio import Redis

_LEAST = {"redis": (7, 4), "valkey": (8, 0)}


async def find_old_version(redis: Redis) -> str | None:
    """Return a warning if the server is older than Redis 7.4 or Valkey 8; None if it is not, or is not known.

    `HELLO` is allowed to every user of the server, unlike `INFO`.

    Raises:
        RedisError: The server does not answer.
    """
    hello = redis.execute_command("HELLO")  # type: ignore[no-untyped-call]
    answer: Mapping[object, object] | Sequence[object] = await hello
    facts = answer if isinstance(answer, Mapping) else dict(zip(answer[::2], answer[1::2], strict=True))
    known = {_text(key): _text(value) for key, value in facts.items()}
    return describe_old(known.get("server", ""), known.get("version", ""))


def describe_old(server: str, version: str) -> str | None:
    """Return the warning for a server and its version."""
    least, found = _LEAST.get(server), re.match(r"(\d+)\.(\d+)", version)
    if least is None or found is None or (int(found[1]), int(found[2])) >= least:
        return None
    return (
        f"{server} {version} is older than the supported versions;"
        " use Valkey 8 or Redis 7.4 or newer, with an ACL user for the gateway (docs/security.md)"
    )


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
