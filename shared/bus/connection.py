"""The NATS connection: unlimited reconnects, a private inbox prefix, requests with deadlines. One per process."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self, TypeVar

import orjson
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError, NoRespondersError
from nats.js import JetStreamContext
from nats.nuid import NUID
from pydantic import BaseModel

from shared import telemetry
from shared.auth.signatures import MessageSigner
from shared.bus import envelope as headers, streams
from shared.bus.batch_publish import NO_STREAM, NotStored, Outgoing, Pipeline, PublishAck
from shared.bus.resubscribe import Resubscriber
from shared.errors import Transient, from_problem
from shared.ids import TenantId, WorkerId
from shared.messages.allocations import DesiredSet, ObservedSet
from shared.messages.base import Hint, Query, ToWorker, WorkerRequest
from shared.runtime.cancelling import raise_if_cancelled
from shared.runtime.outages import Outages

R = TypeVar("R", bound=BaseModel)
Handler = Callable[[Msg], Awaitable[None]]

MAX_PAYLOAD_BYTES = 1024 * 1024
_CONNECTION = "the connection to nats"
AUTHENTICATION = "authenticating to nats"
"""Name of the outage while the server rejects a credential."""
_REFUSED = (
    "the server rejects this credential: its key was revoked, or it has expired; issue a new credential"
)
_FORBIDDEN = "permissions violation for publish"
_PROBE_S = 2.5
_PENDING_BYTES = 32 * 1024 * 1024
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """A worker's credentials: a function for its current JWT, which is renewed, and one that signs the server's nonce."""

    jwt: Callable[[], bytes]
    sign: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class StreamState:
    """When a stream was created, which identifies it, and its last sequence."""

    created: datetime
    last_sequence: int


class Bus:
    """Sends requests and core messages. Messages that must not be lost go through the outbox instead."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._publisher: JetStreamContext | None = None
        self._closing = False
        self._outages = Outages()
        self._hearing = Resubscriber(client, self._outages)
        self._forbidden = ""
        """The server's last permission error for a publish, in lower case, since the last probe."""
        self.pipeline = Pipeline(client)
        self.on_reconnect: list[Callable[[], None]] = []

    @classmethod
    async def connect(
        cls,
        url: str,
        name: str,
        credentials: Path | None = None,
        identity: WorkerIdentity | None = None,
    ) -> "Bus":
        """Connect, and reconnect forever. Raises Transient if no server responds within 10 s."""
        client = Client()
        client._nuid = _Unguessable()
        bus = cls(client)
        proof: dict[str, object] = {}
        if credentials is not None:
            proof["user_credentials"] = str(credentials)
        if identity is not None:
            proof |= {
                "user_jwt_cb": lambda: bytearray(identity.jwt()),
                "signature_cb": identity.sign,
            }
        try:
            async with asyncio.timeout(10):
                await client.connect(
                    url.split(","),
                    name=name,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.25,  # type: ignore[arg-type]  # nats-py sleeps fractions as well
                    connect_timeout=2,
                    ping_interval=5,
                    max_outstanding_pings=2,
                    pending_size=_PENDING_BYTES,
                    inbox_prefix=f"_INBOX_{name}",
                    error_cb=bus._on_error,
                    disconnected_cb=bus._on_disconnect,
                    reconnected_cb=bus._on_reconnect,
                    **proof,  # type: ignore[arg-type]
                )
        except (TimeoutError, OSError, NatsError) as error:
            with contextlib.suppress(Exception):
                await client.close()
            raise Transient(
                f"cannot connect to NATS at {url} as {name}: {error!r}", retry_after_s=1.0
            ) from error
        return bus

    @property
    def client(self) -> Client:
        """For this package only."""
        return self._client

    @property
    def connected(self) -> bool:
        return self._client.is_connected

    @property
    def jetstream(self) -> JetStreamContext:
        """For this package only: no service calls JetStream itself."""
        return self._client.jetstream(timeout=5)

    @property
    def jetstream_publisher(self) -> JetStreamContext:
        """Context for single publishes that await their acknowledgement; use `batch_publish` for many."""
        if self._publisher is None:
            self._publisher = self._client.jetstream(timeout=5)
        return self._publisher

    async def stream_state(self, name: str) -> StreamState:
        """Raises Transient while JetStream is unavailable or the stream is missing."""
        with _transient(f"the stream {name} cannot be read"):
            reply = await self._client.request(f"$JS.API.STREAM.INFO.{name}", timeout=5)
        # Not with nats-py, which parses the whole configuration each time: every process polls this.
        found = orjson.loads(reply.data)
        if "created" not in found:
            error = found.get("error", {})
            why = (
                f"does not exist; {streams.WAIT_FOR_BUS_KEEPER}"
                if error.get("code") == 404
                else f"cannot be read: {error}"
            )
            raise Transient(f"the stream {name} {why}", retry_after_s=0.5)
        return StreamState(datetime.fromisoformat(found["created"]), found["state"]["last_seq"])

    async def probe(self, service: str) -> str | None:
        """Return why the event stream does not accept messages; None if it stored one.

        Publishes a real message: a repeated id is acknowledged without a quorum, and so is a query for the stream's state.
        """
        if not self.connected:
            return "not connected to NATS"
        subject = f"{streams.HEALTH}.{service}"
        self._forbidden = ""
        (outcome,) = await self.pipeline.publish([Outgoing(subject, b"", {})], _PROBE_S)
        if outcome == NotStored(NO_STREAM):
            return f"the stream {streams.EVENTS.name} does not exist; {streams.WAIT_FOR_BUS_KEEPER}"
        if isinstance(outcome, PublishAck):
            return None
        if subject.lower() in self._forbidden:
            return (
                f"NATS reports a permissions violation: the credentials do not permit publishing to {subject};"
                " sign them again with `muster keys init` and start the service with them"
            )
        return f"the stream {streams.EVENTS.name} does not accept messages: {outcome.why}"

    async def ask(self, query: Query[R], tenant: TenantId, timeout_s: float = 5.0) -> R:
        """Send a query to its owner and return the answer.

        Raises:
            MusterError: The owner's error; Transient if there is no answer in time.
        """
        extra = {
            headers.TENANT: str(tenant),
            headers.DEADLINE: str(int(timeout_s * 1000)),
        }
        message = await self._request(query.subject(), query.to_bytes(), extra, timeout_s)
        return query.REPLY.model_validate_json(message.data)  # type: ignore[return-value]

    async def request(self, request: WorkerRequest[R], worker: WorkerId, timeout_s: float = 5.0) -> R:
        """Send a worker's request to its owner; raises like `ask`."""
        return await self.send(type(request), request.to_bytes(), worker, timeout_s)

    async def send(
        self, kind: type[WorkerRequest[R]], payload: bytes, worker: WorkerId, timeout_s: float = 5.0
    ) -> R:
        """Like `request`, with a payload that is JSON already."""
        message = await self._request(kind.subject(worker), payload, {}, timeout_s)
        return kind.REPLY.model_validate_json(message.data)  # type: ignore[return-value]

    async def send_desired(
        self, desired: DesiredSet, signer: MessageSigner, timeout_s: float = 2.0
    ) -> ObservedSet:
        """Send a worker its desired set, signed; return the worker's observed set."""
        subject, payload = DesiredSet.subject(desired.worker), desired.to_bytes()
        signed = {headers.SIGNATURE: signer.sign(subject, payload), headers.SIGNED_BY: signer.key}
        message = await self._request(subject, payload, signed, timeout_s)
        return ObservedSet.from_bytes(message.data)

    async def notify_worker(self, message: ToWorker, worker: WorkerId) -> None:
        """Send a core message to one worker; it is lost if the worker is disconnected."""
        await self._publish(message.subject(worker), message.to_bytes())

    async def hint(self, hint: Hint, tenant: TenantId) -> None:
        await self._publish(hint.subject(tenant), hint.to_bytes())

    async def echo(self, subject: str) -> None:
        """Publish an empty message on a subject that the sender subscribes to: receiving it proves that both directions work."""
        await self._publish(subject, b"")

    async def store_dead_letter(self, subject: str, payload: bytes, extra: dict[str, str]) -> None:
        """Store a dead letter. Raises Transient while JetStream is unavailable, so that the message is not lost."""
        with _transient("the dead letter was not stored"):
            await self.jetstream_publisher.publish(subject, payload, headers=extra)

    async def subscribe(self, subject: str, handler: Handler, queue: str = "") -> Subscription:
        """Add a core subscription; the handler is awaited for each message. It survives reconnects."""
        return await self._client.subscribe(subject, queue=queue, cb=handler)

    async def flush(self) -> None:
        with contextlib.suppress(NatsError, TimeoutError):
            await self._client.flush(timeout=2)

    async def close(self) -> None:
        self._closing = True
        self._hearing.close()
        with contextlib.suppress(NatsError, TimeoutError, OSError):
            await self._client.flush(timeout=1)
        with contextlib.suppress(NatsError, OSError):  # an unavailable server resets the connection
            await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _publish(self, subject: str, payload: bytes) -> None:
        extra: dict[str, str] = {}
        telemetry.inject(extra)
        try:
            await self._client.publish(subject, payload, headers=extra or None)
        except NatsError as error:
            raise Transient(f"publishing to {subject} failed: {error!r}") from error

    async def _request(self, subject: str, payload: bytes, extra: dict[str, str], timeout_s: float) -> Msg:
        telemetry.inject(extra)
        try:
            message = await self._client.request(subject, payload, timeout=timeout_s, headers=extra or None)
        except NoRespondersError as error:
            raise Transient(
                f"no service answers {subject}; its owner is not running",
                code="no_responder",
            ) from error
        except (TimeoutError, NatsError) as error:
            raise Transient(f"{subject} was not answered within {timeout_s:g} s", code="timeout") from error
        raise_if_cancelled()
        problem = _header(message, headers.ERROR)
        if problem is not None:
            raise from_problem(orjson.loads(problem))
        return message

    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, OSError) and not self._client.is_connected:
            return  # raised at each reconnect attempt, four per second; the loss is already logged
        if self._hearing.takes(error):
            return
        if not self._client.is_connected and "authorization violation" in str(error).lower():
            self._outages.failed(AUTHENTICATION, _REFUSED)  # logged once, not at each attempt
            return
        if _FORBIDDEN in str(error).lower():
            self._forbidden = str(error).lower()
        _log.warning("nats reported an error", error=repr(error))

    async def _on_disconnect(self) -> None:
        if not self._closing:
            self._outages.failed(_CONNECTION, "the server closed the connection or does not respond")

    async def _on_reconnect(self) -> None:
        self._outages.worked(_CONNECTION)
        self._outages.worked(AUTHENTICATION)
        for callback in self.on_reconnect:
            callback()


class _Unguessable(NUID):
    """Names of inboxes. Those of nats-py follow from one another, so whoever was asked once could answer in another's name."""

    def next(self) -> bytearray:
        return bytearray(secrets.token_hex(11).encode())  # nats-py expects 22 characters


@contextlib.contextmanager
def _transient(problem: str) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, OSError, NatsError) as error:
        raise Transient(f"{problem}: {error!r}", retry_after_s=0.5) from error


def _header(message: Msg, name: str) -> str | None:
    found: Mapping[str, str] | None = message.headers
    return found.get(name) if found else None
