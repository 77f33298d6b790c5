"""What one operation of the public API is: a row, served by REST and gRPC alike."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import StrEnum
from functools import cached_property
from typing import Generic, Literal, TypeVar

from services.gateway.platform.audit.records import Audited
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.call import Call
from services.gateway.platform.commands.outcomes import OperationOutcome
from services.gateway.platform.limits.buckets import RateClass
from services.gateway.platform.limits.concurrency import Occupied
from services.gateway.platform.schema import Request, Resource

Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Resource)
Verb = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Stream = Literal["server", "upload"]
"""`server`: many answers (SSE, server stream). `upload`: the body is bytes (raw body, client stream)."""

MAX_KEY_CHARS = 200
"""Of an `Idempotency-Key`."""

_NAME = re.compile(r"[A-Z][A-Za-z]+")
_PATH = re.compile(r"/v1(/[a-z][a-z-]*|/\{[a-z][a-z0-9_]*\})+")
_PLACES = re.compile(r"\{([a-z0-9_]+)\}")


class Idempotency(StrEnum):
    """What happens when the same request comes twice."""

    SAFE = "safe"
    """It only reads."""
    NATURAL = "natural"
    """The second finds it done."""
    KEY = "key"
    """The second has the first's answer when both carry the same `Idempotency-Key`."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """From when on an operation should not be used any more, from when on it is gone, and what to read about it."""

    since: datetime
    until: datetime
    about: str

    def headers(self) -> dict[str, str]:
        """As RFC 9745 (Deprecation) and RFC 8594 (Sunset) say it."""
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.until.astimezone(UTC), usegmt=True),
            "Link": f'<{self.about}>; rel="deprecation"; type="text/html"',
        }


Handler = Callable[[Call, Req], Awaitable[Res]] | Callable[[Call, Req], AsyncIterator[Res]]


@dataclass(frozen=True)
class Operation(Generic[Req, Res]):
    """One row of the table: whatever REST, gRPC, OpenAPI and the proto file know of it. What follows from it is found once: each request asks."""

    name: str
    verb: Verb
    path: str
    request: type[Req]
    response: type[Res]
    permission: Permission | Access
    idempotent: Idempotency
    handler: Handler[Req, Res]
    stream: Stream | None = None
    rate: RateClass | None = None
    status: int = 200
    csv: Callable[[Res], str] | None = None
    """For who asks REST for `text/csv`."""
    retired: Retirement | None = None
    """Set for what is on its way out: answers and documents say so."""
    secret: bool = False
    """Whether the answer holds a secret that is shown once."""
    outcome: OperationOutcome | None = None
    """How it is seen to have worked, where it orders what may take longer than a request waits."""
    waits: bool = False
    """Whether its handler asks another service, and so may wait for one that is slow, without being answered with 202."""
    is_probe: bool = False
    """Whether it answers at once, from memory, also where everything else has to wait."""
    conditional: bool = False
    """Whether it heeds `If-Match`: its handler then checks what is shown of the thing before it changes it."""
    audited: Audited | None = None
    """None: what changes is, and what reads is not."""

    def __post_init__(self) -> None:
        if not isinstance(self.permission, Permission | Access):
            raise TypeError(f"operation {self.name} has no permission: name one in its row")
        if not _NAME.fullmatch(self.name) or not _PATH.fullmatch(self.path):
            raise ValueError(f"operation {self.name} has a malformed name or path {self.path!r}")
        may_change = self.idempotent is not Idempotency.SAFE
        if may_change and self.audits is not Audited.CHANGE and not str(self.permission).endswith(".read"):
            raise ValueError(
                f"operation {self.name} may change something and is not audited: let `audited` be"
            )
        unknown = set(self.path_fields) - set(self.request.model_fields)
        if unknown:
            raise ValueError(f"{self.path} names {sorted(unknown)}, which {self.request.__name__} has not")

    @cached_property
    def path_fields(self) -> tuple[str, ...]:
        """The request's fields that stand in the path."""
        return tuple(_PLACES.findall(self.path))

    @cached_property
    def audits(self) -> Audited:
        """What of it stands in the audit log, as the row says or its idempotency suggests."""
        if self.audited is not None:
            return self.audited
        return Audited.NEVER if self.idempotent is Idempotency.SAFE else Audited.CHANGE

    @cached_property
    def long(self) -> bool:
        """True where it orders what may take longer than a request waits: REST then answers 202 with the operation."""
        return self.outcome is not None

    @cached_property
    def has_effect(self) -> bool:
        """True where it may change something."""
        return self.idempotent is not Idempotency.SAFE

    @cached_property
    def occupies(self) -> Occupied | None:
        """Which concurrency limit its requests count against; open streams have a limit of their own."""
        if self.is_probe or self.stream == "server":
            return None
        if self.stream == "upload":
            return "upload"
        return "waiting" if self.long or self.waits else "working"

    @cached_property
    def is_tagged(self) -> bool:
        """True where the answer has an entity tag."""
        return self.stream is None and (self.verb == "GET" or (self.conditional and self.verb != "DELETE"))

    @cached_property
    def is_masked(self) -> bool:
        """True where callers may say which fields they want to be shown."""
        return self.stream is None and self.verb == "GET"

    @property
    def has_body(self) -> bool:
        """True when the fields outside the path come as a JSON body, not in the query."""
        return self.verb in ("POST", "PUT", "PATCH") and self.stream != "upload"

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or self.name).strip().splitlines()[0]

    @cached_property
    def rate_class(self) -> RateClass:
        """The row's rate class, or the one that its verb and stream suggest."""
        if self.rate is not None:
            return self.rate
        if self.stream == "server":
            return RateClass.STREAM
        return RateClass.READ if self.verb == "GET" else RateClass.WRITE
