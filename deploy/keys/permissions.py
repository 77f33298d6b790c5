"""NATS permissions: one row per service, the bus keeper, and the template for workers.

See the table of messages in the architecture page. `files.py` turns the rows into signed user tokens.
Every service has its own inbox. It cannot create, change, delete or purge a stream or a consumer; it fetches and acknowledges as its own
consumer only. The bus keeper creates streams and consumers, and does nothing else. A worker has no access to JetStream.

No row allows responses (`allow_responses`): that permits a publish to whatever reply subject the question named, so a client that asks itself
could publish anywhere (0292). Rows name the inboxes that they may answer to.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

STREAMS = ("EVT", "CMD", "DLQ")
CONSUMED = ("EVT", "CMD")
"""The streams with consumers; operators read dead letters one by one."""
ADMIN = "admin"
BUS_KEEPER = "bus-keeper"
WORKER_ROLE = "worker"
WORKER_PAYLOAD_BYTES = 1024 * 1024
_KINDS = ("evt", "cmd", "qry", "live", "wrk", "wrq", "rpt")


@dataclass(frozen=True, slots=True)
class Row:
    """The permissions of one service beyond the common ones.

    Attributes:
        entities: entities whose events it publishes.
        publish: other subjects it publishes.
        answer: subjects of requests it answers, and of hints it receives.
        asks: subjects of queries it may send.
        answers_workers: workers ask it.
        is_stateless: it uses no streams.
    """

    entities: tuple[str, ...]
    publish: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    asks: tuple[str, ...] = ("qry.v1.>",)
    answers_workers: bool = False
    is_stateless: bool = False


SERVICES: dict[str, Row] = {
    "gateway": Row(
        entities=("submission", "limits", "entity"),
        publish=tuple(f"cmd.v1.{owner}.>" for owner in ("searcher", "scheduler", "provisioner", "registry")),
        answer=("live.v1.>", "wrq.v1.*.secret"),
        answers_workers=True,
    ),
    "searcher": Row(
        entities=("experiment", "trial", "operation", "entity"),
        publish=("wrk.v1.*.verdict",),
    ),
    "scheduler": Row(
        entities=("run", "request", "worker", "pool", "budget", "operation", "entity"),
        publish=("wrk.v1.*.desired",),
        answer=("wrq.v1.*.observed", "wrq.v1.*.renew"),
        answers_workers=True,
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
            "wrq.v1.*.image",
            "wrq.v1.*.upload",
            "wrq.v1.*.commit",
            "wrq.v1.*.upload_many",
            "wrq.v1.*.commit_many",
            "wrq.v1.*.send_media",
            "wrq.v1.*.commit_media",
        ),
        answers_workers=True,
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


def permissions_of(identity: str) -> dict[str, JsonValue]:
    """Return the permission claims of a service's user, or of the bus keeper's or the operator's."""
    match identity:
        case "admin":
            return admin_permissions()
        case "bus-keeper":
            return bus_keeper_permissions()
        case service:
            return service_permissions(service)


def service_permissions(service: str) -> dict[str, JsonValue]:
    """Return the permission claims of a service's user."""
    row = SERVICES[service]
    publish = [
        *(f"evt.v1.*.{entity}.>" for entity in row.entities),
        *row.publish,
        *row.asks,
        *(f"{inbox(asker)}.>" for asker in (*SERVICES, ADMIN)),
        *(() if row.is_stateless else _delivery(service)),
    ]
    hear = [f"{inbox(service)}.>", f"qry.v1.{service}.>", *row.answer]
    if not row.answers_workers:
        return {"pub": _allow(publish), "sub": _allow(hear)}
    # Workers have any name, and a wildcard stands for a whole token: an inbox of a request has three. Nothing else that has three is used,
    # except dead letters.
    others = (f"dlq.v1.{other}" for other in SERVICES if other != service)
    deny = [*(f"{kind}.v1.*" for kind in _KINDS), "$JS.*.*", "$SYS.*.*", *others]
    return {"pub": {**_allow([*publish, "*.*.*"]), "deny": list(deny)}, "sub": _allow(hear)}


def bus_keeper_permissions() -> dict[str, JsonValue]:
    """Return the bus keeper's permissions: it creates streams and consumers, and reads their state."""
    publish = []
    for stream in STREAMS:
        publish += [
            f"$JS.API.STREAM.CREATE.{stream}",
            f"$JS.API.STREAM.INFO.{stream}",
            f"$JS.API.CONSUMER.LIST.{stream}",
            f"$JS.API.CONSUMER.CREATE.{stream}.>",
        ]
    return {"pub": _allow(publish), "sub": _allow([f"{inbox(BUS_KEEPER)}.>"])}


def admin_permissions() -> dict[str, JsonValue]:
    """Return the operator's permissions: everything inside the account, including deletion of streams."""
    return {"pub": _allow([">"]), "sub": _allow([">"])}


def worker_template() -> dict[str, JsonValue]:
    """Return the permissions of workers. The server inserts the user's name, so a worker only reaches its own subjects.

    It answers desired sets, which only the scheduler sends.
    """
    name = "{{name()}}"
    return {
        "pub": _allow([f"rpt.v1.{name}.>", f"wrq.v1.{name}.>", f"{inbox('scheduler')}.>"]),
        "sub": _allow([f"wrk.v1.{name}.>", f"{inbox(name)}.>"]),
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
    for stream in STREAMS:
        yield f"$JS.API.STREAM.INFO.{stream}"
    for stream in CONSUMED:
        yield f"$JS.API.CONSUMER.INFO.{stream}.{service}"
        yield f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{service}"
        yield f"$JS.ACK.{stream}.{service}.>"
        yield f"$JS.ACK.*.*.{stream}.{service}.>"


def _allow(subjects: list[str]) -> dict[str, JsonValue]:
    return {"allow": list(subjects)}
