"""Conditional changes (`If-Match`): change a resource only if it has not changed since the caller read it."""

from typing import TypedDict

from muster.errors import Conflict
from services.gateway.platform.call_context import Call
from services.gateway.platform.etags import names_tag, tag_of
from services.gateway.platform.schema import Resource

HEADER = "If-Match"
VERSION_CONFLICTS = frozenset({"version_changed", "version_conflict"})
"""Codes with which owners refuse a command for another version."""


class Guard(TypedDict, total=False):
    """Fields of a command that make its owner refuse it for any other version."""

    expected_version: int


def tag_of_resource(resource: Resource, body: bytes | None = None) -> str:
    """Return the entity tag of a resource, the same for both protocols. `body`: its JSON, if already serialized."""
    tagged = resource.tagged()
    return tag_of(tagged.to_json() if body is None or tagged is not resource else body)


def check_unchanged(call: Call, current: Resource) -> None:
    """Raise Conflict if the call has `If-Match` and it does not match `current`, the current representation."""
    if call.if_match is None:
        return
    now = tag_of_resource(current)
    if not names_tag(call.if_match, now, HEADER, is_weak=False):
        raise precondition_failed(f"the resource has changed since you read it; its current ETag is {now}")


def guard(call: Call, current: Resource, version: int) -> Guard:
    """Check like `check_unchanged`, and return the fields with which the owner checks the version again, as it may know a newer one."""
    if call.if_match is None:
        return {}
    check_unchanged(call, current)
    return {"expected_version": version}


def precondition_failed(message: str) -> Conflict:
    return Conflict("precondition_failed", message, HEADER, "read the resource again and send its new ETag")
