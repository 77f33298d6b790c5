"""Who may speak and hear what on NATS: one literal row per service, and the template of every worker.

Read with the table of messages in the architecture. `files.py` turns the rows into signed user tokens.
Every service has an inbox of its own, creates what stream or consumer is missing, and neither updates, deletes
nor purges a stream; it acknowledges as its own consumer only. A worker has no JetStream at all.
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
    """What one service may do beyond what all may.

    Attributes:
        entities: the entities whose events it publishes.
        publish: further subjects it publishes.
        answer: subjects of requests it answers, and of hints it hears.
        asks: the questions it may ask.
        is_stateless: it neither takes nor gives messages that must not be lost, and has nothing to do with streams.
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
            "qry.v1.searcher.warmth",
        ),
        is_stateless=True,
    ),
}


def inbox(name: str) -> str:
    """The prefix of a client's private inbox."""
    return f"_INBOX_{name}"


def service_permissions(service: str) -> dict[str, JsonValue]:
    """The permission claims of a service's user: what it publishes, hears and answers."""
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
    """The operator's tool: everything inside the account, the streams' deletion included."""
    return {"pub": _allow([">"]), "sub": _allow([">"])}


def worker_template() -> dict[str, JsonValue]:
    """What the scoped signing key grants; the server puts the user's name in, so nobody can ask for more.

    Answers are allowed one by one, to the reply subject of a request that was received.
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
    """Hints, dead letters and the API subjects of a service with an inbox and an outbox; the server of 2.15 acknowledges with domain and account in the subject, older ones without."""
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
