"""Changing what one has seen, and nothing that somebody has changed since: `If-Match`."""

from typing import TypedDict

from muster.errors import Conflict
from services.gateway.platform.call import Call
from services.gateway.platform.etags import names_tag, tag_of
from services.gateway.platform.schema import Resource

HEADER = "If-Match"
VERSION_CONFLICTS = frozenset({"version_changed", "version_conflict"})
"""What owners refuse a command with that was made for another state."""


class Guard(TypedDict, total=False):
    """What a command carries so that its owner refuses it for another state than the one that was looked at."""

    expected_version: int


def tag_of_resource(resource: Resource, body: bytes | None = None) -> str:
    """Return the tag of a resource, the same over both protocols; `body` is its JSON where that is known."""
    tagged = resource.tagged()
    return tag_of(tagged.to_json() if body is None or tagged is not resource else body)


def check_unchanged(call: Call, shown: Resource) -> None:
    """Raises Conflict where the caller asks for a change of what it saw, and `shown`, as its GET gives it now, is not that."""
    if call.if_match is None:
        return
    now = tag_of_resource(shown)
    if not names_tag(call.if_match, now, HEADER, is_weak=False):
        raise precondition_failed(f"what you want to change has changed meanwhile; its ETag is {now} now")


def guard(call: Call, shown: Resource, version: int) -> Guard:
    """Checks as `check_unchanged`, and has the owner check the version once more: its answer may be later than what is known here."""
    if call.if_match is None:
        return {}
    check_unchanged(call, shown)
    return {"expected_version": version}


def precondition_failed(message: str) -> Conflict:
    return Conflict(
        "precondition_failed", message, HEADER, "look at it again, and send the ETag of what you see"
    )
