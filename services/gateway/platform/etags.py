"""Entity tags (RFC 9110, 8.8.3): what somebody saw of a thing, in a few characters, and the lists of them that headers carry."""

import hashlib
import re

from muster.errors import Rejected

_DIGEST_BYTES = 12
_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_LIST = re.compile(rf"\s*(?:{_TAG})?(?:\s*,\s*(?:{_TAG})?)*\s*")
_TAGS = re.compile(_TAG)


def tag_of(body: bytes) -> str:
    """The strong tag of a thing that is shown so: equal for equal bytes only."""
    return f'"{hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()}"'


def names_tag(header: str, tag: str, place: str, *, is_weak: bool) -> bool:
    """True where the list in a header names `tag`, or is `*`: any.

    Args:
        place: the header's name.
        is_weak: whether what is marked as only alike (`W/`) counts: for `If-None-Match` it does, for `If-Match` never.

    Raises:
        Rejected: it is no list of tags.
    """
    if header.strip() == "*":
        return True
    if not header.strip() or _LIST.fullmatch(header) is None:
        raise Rejected(
            "invalid_request",
            "this is no list of entity tags",
            place,
            'send the ETag header of an answer as it came, with its quotation marks: "5f1c…"',
        )
    found = _TAGS.findall(header)
    return tag in ([one.removeprefix("W/") for one in found] if is_weak else found)
