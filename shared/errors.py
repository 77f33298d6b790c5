"""Error tree of the platform, and what each error means on the bus, in HTTP and in gRPC.

The tree is the SDK's (`muster.errors`), so that clients and services raise the same errors.
"""

from dataclasses import dataclass
from typing import Literal

from muster.errors import (
    Broken,
    Conflict,
    MusterError,
    NotFound,
    Problem,
    Rejected,
    Transient,
    from_problem,
    to_problem,
)

__all__ = [
    "Broken",
    "Conflict",
    "Meaning",
    "MusterError",
    "NotFound",
    "Problem",
    "Rejected",
    "Transient",
    "from_problem",
    "meaning_of",
    "to_problem",
]

Settlement = Literal["nak", "dead_letter"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of an error at each interface.

    Attributes:
        settlement: How a message is settled whose handler raised the error: `nak` redelivers it later.
        http: Status of a REST response.
        grpc: Name of the gRPC status code.
    """

    settlement: Settlement
    http: int
    grpc: str


_MALFORMED = Meaning("dead_letter", 400, "INVALID_ARGUMENT")

BY_CODE = {
    "invalid_request": _MALFORMED,
    "invalid_json": _MALFORMED,
    "duplicate_key": _MALFORMED,
    "ambiguous_credentials": _MALFORMED,
    "unknown_field": _MALFORMED,
    "cursor_invalid": _MALFORMED,
    "too_deep": _MALFORMED,
    "too_many_values": _MALFORMED,
    "host_not_allowed": _MALFORMED,
    "events_expired": Meaning("dead_letter", 410, "OUT_OF_RANGE"),
    "code_too_large": Meaning("dead_letter", 413, "RESOURCE_EXHAUSTED"),
    "slow_body": Meaning("nak", 408, "DEADLINE_EXCEEDED"),
    "disk_full": Meaning("nak", 507, "RESOURCE_EXHAUSTED"),
    "unauthenticated": Meaning("dead_letter", 401, "UNAUTHENTICATED"),
    "forbidden": Meaning("dead_letter", 403, "PERMISSION_DENIED"),
    "not_found": Meaning("dead_letter", 404, "NOT_FOUND"),
    "method_not_allowed": Meaning("dead_letter", 405, "UNIMPLEMENTED"),
    "too_large": Meaning("dead_letter", 413, "RESOURCE_EXHAUSTED"),
    "unsupported_media_type": Meaning("dead_letter", 415, "INVALID_ARGUMENT"),
    "precondition_failed": Meaning("dead_letter", 412, "FAILED_PRECONDITION"),
    "precondition_unsupported": _MALFORMED,
    "rate_limited": Meaning("nak", 429, "RESOURCE_EXHAUSTED"),
    "timeout": Meaning("nak", 504, "DEADLINE_EXCEEDED"),
}
"""Codes with a more specific meaning than their branch."""

BY_KIND = {
    Rejected.kind: Meaning("dead_letter", 422, "INVALID_ARGUMENT"),
    Conflict.kind: Meaning("nak", 409, "FAILED_PRECONDITION"),
    Transient.kind: Meaning("nak", 503, "UNAVAILABLE"),
    Broken.kind: Meaning("dead_letter", 500, "INTERNAL"),
}

UNFORESEEN = Meaning("nak", 500, "INTERNAL")
"""Errors outside the tree: retried, and a dead letter after the last delivery."""


def meaning_of(error: BaseException) -> Meaning:
    """Return the meaning of `error`: by its code, else by its branch."""
    if not isinstance(error, MusterError):
        return UNFORESEEN
    return BY_CODE.get(error.code) or BY_KIND.get(error.kind, UNFORESEEN)
