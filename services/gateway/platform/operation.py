"""The definition of an operation of the public API, which REST and gRPC serve alike."""

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
from services.gateway.platform.call_context import Call
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
"""Maximum length of an `Idempotency-Key`."""

_NAME = re.compile(r"[A-Z][A-Za-z]+")
_PATH = re.compile(r"/v1(/[a-z][a-z-]*|/\{[a-z][a-z0-9_]*\})+")
_PARAMETERS = re.compile(r"\{([a-z0-9_]+)\}")


class Idempotency(StrEnum):
    """How an operation handles repeated requests."""

    SAFE = "safe"
    """The operation only reads."""
    NATURAL = "natural"
    """Repeating a request has no further effect."""
    KEY = "key"
    """A repeated request with the same `Idempotency-Key` gets the first one's answer."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """When an operation is deprecated (`since`) and removed (`until`), and the URL of the documentation (`about`)."""

    since: datetime
    until: datetime
    about: str

    def headers(self) -> dict[str, str]:
        """Return the headers of RFC 9745 (Deprecation) and RFC 8594 (Sunset)."""
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.until.astimezone(UTC), usegmt=True),
            "Link": f'<{self.about}>; rel="deprecation"; type="text/html"',
        }


Handler = Callable[[Call, Req], Awaitable[Res]] | Callable[[Call, Req], AsyncIterator[Res]]


@dataclass(frozen=True)
class Operation(Generic[Req, Res]):
    """One row of the table of operations: the source for REST, gRPC, OpenAPI and the proto file. Derived values are cached, as every request reads them."""

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
    """Renders the answer as `text/csv` for REST clients that accept it."""
    retired: Retirement | None = None
    """Set for deprecated operations; responses and documents then say so."""
    secret: bool = False
    """Whether the answer contains a secret, which is returned only once."""
    outcome: OperationOutcome | None = None
    """Set for long operations: finds the outcome of an operation that may take longer than its request waits."""
    waits: bool = False
    """Whether the handler may wait for another service without answering with 202."""
    is_probe: bool = False
    """Whether the operation answers at once, from memory, without concurrency limits."""
    conditional: bool = False
    """Whether the operation supports `If-Match`; its handler checks the current resource before it changes it."""
    audited: Audited | None = None
    """None: audit operations that may change something, and no others."""

    def __post_init__(self) -> None:
        if not isinstance(self.permission, Permission | Access):
            raise TypeError(f"operation {self.name} has no permission; set one in its row")
        if not _NAME.fullmatch(self.name) or not _PATH.fullmatch(self.path):
            raise ValueError(f"operation {self.name} has a malformed name or path {self.path!r}")
        may_change = self.idempotent is not Idempotency.SAFE
        if may_change and self.audits is not Audited.CHANGE and not str(self.permission).endswith(".read"):
            raise ValueError(
                f"operation {self.name} may change something but is not audited; do not set `audited`"
            )
        unknown = set(self.path_fields) - set(self.request.model_fields)
        if unknown:
            raise ValueError(f"{self.path} contains {sorted(unknown)}, which {self.request.__name__} lacks")

    @cached_property
    def path_fields(self) -> tuple[str, ...]:
        """The request's fields that the path contains."""
        return tuple(_PARAMETERS.findall(self.path))

    @cached_property
    def audits(self) -> Audited:
        """When the audit log records the operation; the default follows from its idempotency."""
        if self.audited is not None:
            return self.audited
        return Audited.NEVER if self.idempotent is Idempotency.SAFE else Audited.CHANGE

    @cached_property
    def long(self) -> bool:
        """True if the operation may take longer than a request waits. REST then answers 202 with the operation."""
        return self.outcome is not None

    @cached_property
    def has_effect(self) -> bool:
        """True if the operation may change something."""
        return self.idempotent is not Idempotency.SAFE

    @cached_property
    def occupies(self) -> Occupied | None:
        """The concurrency limit that requests count against. None for probes, and for streams, which have their own limit."""
        if self.is_probe or self.stream == "server":
            return None
        if self.stream == "upload":
            return "upload"
        return "waiting" if self.long or self.waits else "working"

    @cached_property
    def is_tagged(self) -> bool:
        """True if the answer has an entity tag."""
        return self.stream is None and (self.verb == "GET" or (self.conditional and self.verb != "DELETE"))

    @cached_property
    def is_masked(self) -> bool:
        """True if callers may select the fields of the answer."""
        return self.stream is None and self.verb == "GET"

    @property
    def has_body(self) -> bool:
        """True if the fields outside the path are in a JSON body and not in the query."""
        return self.verb in ("POST", "PUT", "PATCH") and self.stream != "upload"

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or self.name).strip().splitlines()[0]

    @cached_property
    def rate_class(self) -> RateClass:
        """The row's rate class; the default follows from its verb and stream."""
        if self.rate is not None:
            return self.rate
        if self.stream == "server":
            return RateClass.STREAM
        return RateClass.READ if self.verb == "GET" else RateClass.WRITE
