"""NATS permissions: one row per service, and the template for workers.

See the table of messages in the architecture page. `files.py` turns the rows into signed user tokens.
Every service has its own inbox, creates missing streams and consumers, and cannot update, delete
or purge a stream; it acknowledges as its own consumer only. A worker has no access to JetStream.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

STREAMS = ("EVT", "CMD", "DLQ")
ADMIN = "admin"
WORKER_ROLE = "worker"
RESPONSE_NS = 60 * 1_000_000_000
WORKER_PAYLOAD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """The permissions of one service beyond the common ones.

    Attributes:
        entities: entities whose events it publishes.
        publish: other subjects it publishes.
        answer: subjects of requests it answers, and of hints it receives.
        asks: subjects of queries it may send.
        is_stateless: it uses no streams.
    """

    entities: tuple[str, ...]
    publish: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    asks: tuple[str, ...] = ("qry.v1.>",)
    is_stateless: bool = False


SERVICES: dict[str, Row] = {
    "gateway": Row(
        entities=("submission", "limits", "entity"),
        publish=("cmd.v1.>",),
        answer=("live.v1.>",),
    ),
    "searcher": Row(
        entities=("experiment", "trial", "operation", "entity"),
        publish=("wrk.v1.*.verdict",),
    ),
    "scheduler": Row(
        entities=("run", "request", "worker", "pool", "budget", "operation", "entity"),
        publish=("wrk.v1.*.desired",),
        answer=("wrq.v1.*.observed", "wrq.v1.*.renew"),
    ),
    "provisioner": Row(
        entities=("instance", "provider", "operation", "entity"),
        publish=("cmd.v1.scheduler.>",),
    ),
    "registry": Row(
        entities=("validation", "checkpoint", "model", "version", "artifact", "operation", "entity"),
        answer=(
            "rpt.v1.>",
            "wrq.v1.*.code",
            "wrq.v1.*.restore",
            "wrq.v1.*.upload",
            "wrq.v1.*.commit",
            "wrq.v1.*.upload_many",
            "wrq.v1.*.commit_many",
            "wrq.v1.*.send_media",
            "wrq.v1.*.commit_media",
        ),
    ),
    "simulator": Row(
        entities=(),
        asks=(
            "qry.v1.scheduler.outlook",
            "qry.v1.registry.curves",
            "qry.v1.provisioner.provided",
            "qry.v1.searcher.prior_observations",
        ),
        is_stateless=True,
    ),
}


def inbox(name: str) -> str:
    """Return the prefix of a client's private inbox."""
    return f"_INBOX_{name}"


def service_permissions(service: str) -> dict[str, JsonValue]:
    """Return the permission claims of a service's user."""
    row = SERVICES[service]
    publish = [
        *(f"evt.v1.*.{entity}.>" for entity in row.entities),
        *row.publish,
        *row.asks,
        f"{inbox(service)}.>",
        *(() if row.is_stateless else _delivery(service)),
    ]
    hear = [f"{inbox(service)}.>", f"qry.v1.{service}.>", *row.answer]
    return {"pub": _allow(publish), "sub": _allow(hear), "resp": {"max": 1, "ttl": RESPONSE_NS}}


def admin_permissions() -> dict[str, JsonValue]:
    """Return the operator's permissions: everything inside the account, including deletion of streams."""
    return {"pub": _allow([">"]), "sub": _allow([">"])}


def worker_template() -> dict[str, JsonValue]:
    """Return the permissions of workers. The server inserts the user's name, so a worker only reaches its own subjects.

    Each received request allows one reply to its reply subject.
    """
    name = "{{name()}}"
    return {
        "pub": _allow([f"rpt.v1.{name}.>", f"wrq.v1.{name}.>"]),
        "sub": _allow([f"wrk.v1.{name}.>", f"{inbox(name)}.>"]),
        "resp": {"max": 1, "ttl": RESPONSE_NS},
        "subs": 64,
        "data": -1,
        "payload": WORKER_PAYLOAD_BYTES,
        "allowed_connection_types": ["STANDARD"],
    }


def _delivery(service: str) -> Iterable[str]:
    """Yield subjects of hints, dead letters and JetStream for a service with an inbox and an outbox; NATS 2.15 adds domain and account to the acknowledgement subject."""
    yield "live.v1.>"
    yield from (f"dlq.v1.{service}", f"dlq.v1.{service}.>")
    yield f"evt.v1.*.health.{service}"
    yield "$JS.API.INFO"
    for stream in STREAMS:
        yield f"$JS.API.STREAM.CREATE.{stream}"
        yield f"$JS.API.STREAM.INFO.{stream}"
        yield f"$JS.API.CONSUMER.CREATE.{stream}.{service}"
        yield f"$JS.API.CONSUMER.CREATE.{stream}.{service}.>"
        yield f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{service}"
        yield f"$JS.API.CONSUMER.INFO.{stream}.{service}"
        yield f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{service}"
        yield f"$JS.ACK.{stream}.{service}.>"
        yield f"$JS.ACK.*.*.{stream}.{service}.>"


def _allow(subjects: list[str]) -> dict[str, JsonValue]:
    return {"allow": list(subjects)}
