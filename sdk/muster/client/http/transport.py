"""HTTP requests to the gateway, retried while safe; errors are raised as `muster.errors`."""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import BaseModel, JsonValue, ValidationError

from muster.client.http.errors import (
    CONNECTION_LOST,
    GATEWAY_UNAVAILABLE_STATUSES,
    LONGEST_WAIT_S,
    problem_of,
    reached,
    wait_s,
)
from muster.client.http.field_selection import read_partial
from muster.client.settings import Address
from muster.config.yaml_reader import read_mapping
from muster.errors import Broken, Rejected, Transient, uncertain

ATTEMPTS = 6
SETTLING_ATTEMPTS = 8
"""About a minute."""
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
USER_AGENT = "muster-sdk/0.1"

CHUNK_BYTES = 1 << 18
CHANGES_NOTHING = frozenset(
    {"/v1/plans", "/v1/sessions", "/v1/sign-in/token", "/v1/sign-in/link", "/v1/sign-in/finish"}
)
"""Paths whose POST changes nothing, or creates a session that is useless if the response is lost."""
_MAY_HAVE_ARRIVED = frozenset({CONNECTION_LOST, GATEWAY_UNAVAILABLE_STATUSES})
WAITING_ATTEMPTS = 5
"""About ten seconds: longer than the bus needs to elect a leader."""

Query = Mapping[str, str | int | bool | Sequence[str] | None]
Reference = str | int | UUID
"""A number, name or id."""


class Parsed(Protocol):
    """A model that parses JSON."""

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray) -> Self: ...


ModelT = TypeVar("ModelT", bound=Parsed)


@dataclass(frozen=True, slots=True)
class Call:
    """A request: `body` as JSON, or `content` as raw bytes.

    `on_bytes` is called while content is sent, with (bytes added, total bytes).
    """

    method: str
    path: str
    query: Query | None = None
    body: JsonValue = None
    content: bytes | None = None
    on_bytes: Callable[[int, int], None] | None = None
    accept: str = "application/json"


class Transport:
    """Sends calls to one gateway with one token; thread-safe."""

    def __init__(
        self,
        address: Address,
        http: httpx.Client | None = None,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address
        self.attempts = attempts
        self.fields = ""
        self._sleep = sleep
        self._http = http or httpx.Client(timeout=TIMEOUT, follow_redirects=False)
        self._headers = {"User-Agent": USER_AGENT}
        if address.token:  # No token exists before sign-in, and an empty header is invalid.
            self._headers["Authorization"] = f"Bearer {address.token}"

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def only(self, *fields: str) -> "Transport":
        """Return a transport that requests only these fields in reads; it shares the connections."""
        other = copy(self)
        other.fields = ",".join(fields)
        return other

    def get(self, model: type[ModelT], path: str, query: Query | None = None) -> ModelT:
        """Return the response of `GET path`."""
        return self.call(model, Call("GET", path, query))

    def get_csv(self, path: str, query: Query | None = None) -> str:
        """Return the response of `GET path` as CSV."""
        return self._retried(Call("GET", path, query, accept="text/csv")).text

    def post(self, model: type[ModelT], path: str, body: JsonValue = None) -> ModelT:
        """Return the response of `POST path`; it takes effect once, even if it is sent repeatedly."""
        return self.call(model, Call("POST", path, body=body))

    def delete(self, model: type[ModelT], path: str, query: Query | None = None) -> ModelT:
        """Return the response of `DELETE path`, the deleted resource; see `post`."""
        return self.call(model, Call("DELETE", path, query))

    def patch(self, model: type[ModelT], path: str, body: JsonValue) -> ModelT:
        """Return the response of `PATCH path`; see `post`."""
        return self.call(model, Call("PATCH", path, body=body))

    def put(self, model: type[ModelT], path: str, body: JsonValue = None) -> ModelT:
        """Return the response of `PUT path`; see `post`."""
        return self.call(model, Call("PUT", path, body=body))

    def call(self, model: type[ModelT], call: Call) -> ModelT:
        """Send `call`, with retries for transient failures, and return the response as `model`.

        Raises:
            MusterError: The problem that the gateway reports, or `Transient` if it cannot be reached.
        """
        is_partial = bool(self.fields) and call.method == "GET"
        if is_partial:
            call = replace(call, query={**(call.query or {}), "fields": self.fields})
        answer = self._retried(call)
        content = answer.content
        if "preference-applied" in answer.headers:
            content = self._settled(answer)
        try:
            if is_partial and issubclass(model, BaseModel):
                return read_partial(model, content)
            return model.model_validate_json(content or b"{}")
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, item["loc"])) for item in error.errors()[:5])
            raise Broken(
                f"{call.method} {call.path} returned a response that this version of the SDK does not "
                f"support (at {fields or 'the top'}): update `muster` to the platform's version"
            ) from error

    @contextmanager
    def stream(self, path: str, query: Query | None, last_event: str | None) -> Iterator[httpx.Response]:
        """Open a stream of server-sent events after the event `last_event`; not retried here."""
        headers = {**self._headers, "Accept": "text/event-stream"}
        if last_event is not None:
            headers["Last-Event-ID"] = last_event
        timeout = httpx.Timeout(30.0, connect=5.0, read=60.0)
        with (
            reached(self.address.url),
            self._http.stream(
                "GET", self._url(path), params=_query(query), headers=headers, timeout=timeout
            ) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                answer.read()
                raise problem_of(answer)
            yield answer

    def _settled(self, answer: httpx.Response) -> bytes:
        """Return the result of a long-running operation; raises `Transient` if it takes too long."""
        path = answer.headers["location"]
        look = f"`muster operation show {path.rpartition('/')[2]}` shows its outcome"
        waiting: str | None = None
        for attempt in range(SETTLING_ATTEMPTS):
            self._sleep(wait_s(attempt, float(answer.headers.get("retry-after", 0))))
            try:
                operation = self._retried(Call("GET", path)).json()
            except Transient as error:
                raise Transient(
                    f"{error.message}; the request is stored and may still take effect: {look}",
                    error.retry_after_s,
                    error.code,
                    may_take_effect=True,
                ) from error
            if operation["state"] == "refused":
                raise Rejected(operation["code"], operation["message"], hint=operation.get("hint"))
            if operation["state"] == "done":
                return json.dumps(operation["result"]).encode()
            waiting = operation.get("waiting")
            if waiting and attempt + 1 >= WAITING_ATTEMPTS:
                break
        raise Transient(
            f"{waiting or 'the platform is still working on it'}: {look}",
            LONGEST_WAIT_S,
            "still_working",
            may_take_effect=True,
        )

    def _retried(self, call: Call) -> httpx.Response:
        headers = {**self._headers, "Accept": call.accept}
        if call.method != "GET":
            headers["Idempotency-Key"] = secrets.token_hex(16)
            headers["Prefer"] = "respond-async"
        may_take_effect = False
        for attempt in range(self.attempts):
            try:
                return self._send(call, headers)
            except Transient as error:
                # One attempt that may have arrived is enough, even if later attempts failed to connect.
                may_take_effect = may_take_effect or error.may_take_effect or error.code in _MAY_HAVE_ARRIVED
                if attempt + 1 == self.attempts:
                    if may_take_effect and _may_change(call):
                        raise uncertain(error, call.path) from error
                    raise
                self._sleep(wait_s(attempt, error.retry_after_s))
        raise AssertionError("unreachable")

    def _send(self, call: Call, headers: dict[str, str]) -> httpx.Response:
        content: bytes | Iterator[bytes] | None = None
        if call.content is not None:
            content = _chunks(call.content, call.on_bytes)
            headers = {
                **headers,
                "Content-Type": "application/gzip",
                "Content-Length": str(len(call.content)),
            }
        elif call.body is not None:
            content = _json(call.body)
            headers = {**headers, "Content-Type": "application/json"}
        with reached(self.address.url):
            answer = self._http.request(
                call.method, self._url(call.path), params=_query(call.query), content=content, headers=headers
            )
        if answer.is_success:
            return answer
        raise problem_of(answer)

    def _url(self, path: str) -> str:
        return self.address.url + path


def _may_change(call: Call) -> bool:
    return call.method != "GET" and (call.method != "POST" or call.path not in CHANGES_NOTHING)


def segment(reference: Reference) -> str:
    """Return `reference` as one path segment."""
    return quote(str(reference), safe="") or "-"


def _json(body: JsonValue) -> bytes:
    """Encode JSON; raises Rejected, with the place, for NaN, infinities and unsupported types."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError):
        if isinstance(body, dict):
            read_mapping(body)
        raise


def _chunks(content: bytes, on_bytes: Callable[[int, int], None] | None) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        chunk = content[start : start + CHUNK_BYTES]
        yield chunk
        if on_bytes is not None:
            on_bytes(len(chunk), len(content))


def _query(query: Query | None) -> list[tuple[str, str | int | float | bool | None]] | None:
    """Return the query's pairs without None; a list becomes a repeated name."""
    if query is None:
        return None
    pairs: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in query.items():
        items = [value] if isinstance(value, str | int) or value is None else value
        pairs += [(name, _text(item)) for item in items if item is not None]
    return pairs


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
