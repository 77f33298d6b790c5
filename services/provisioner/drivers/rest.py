"""One HTTP exchange with a provider's JSON API."""

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
    """A request. `content` is sent as JSON, with the content type in `headers`."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str] | None = None
    content: Json | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `content` is the JSON object, empty if it is none; `text` is the start of the raw body."""

    status: int
    content: Json
    text: str


async def exchange(session: aiohttp.ClientSession, request: HttpRequest, who: str) -> Response:
    """Send one request; `who` names the provider in errors.

    Raises:
        Transient: There was no answer; the request may have taken effect.
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
    text = raw[:200].decode(errors="replace")
    return Response(answer.status, content if isinstance(content, dict) else {}, text)
