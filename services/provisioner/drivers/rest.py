"""One HTTP exchange with a provider that speaks JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from shared.errors import Transient

TIMEOUT = aiohttp.ClientTimeout(total=30, connect=5)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked. `content` is sent as JSON, of the form that `headers` name."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str] | None = None
    content: Json | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """`content`: the JSON object, empty where it is none; `text`: its beginning as it came."""

    status: int
    content: Json
    text: str


async def exchange(session: aiohttp.ClientSession, request: HttpRequest, who: str) -> Response:
    """Asks once; `who` is asked, in words.

    Raises:
        Transient: There was no answer; what was asked may have been done.
    """
    body = orjson.dumps(request.content) if request.content is not None else None
    try:
        async with session.request(
            request.method,
            request.url,
            data=body,
            headers=request.headers,
            params=request.query,
            timeout=TIMEOUT,
        ) as answer:
            raw = await answer.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Transient(f"{who} did not answer: {error!r}") from error
    try:
        content = orjson.loads(raw)
    except orjson.JSONDecodeError:
        content = None
    told = raw[:200].decode(errors="replace")
    return Response(answer.status, content if isinstance(content, dict) else {}, told)
