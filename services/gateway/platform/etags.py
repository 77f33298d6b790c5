"""Entity tags (RFC 9110, 8.8.3), and the lists of tags in headers."""

import hashlib
import re

from muster.errors import Rejected

_DIGEST_BYTES = 12
_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_LIST = re.compile(rf"\s*(?:{_TAG})?(?:\s*,\s*(?:{_TAG})?)*\s*")
_TAGS = re.compile(_TAG)


def tag_of(body: bytes) -> str:
    """Return the strong entity tag of a representation: equal only for equal bytes."""
    return f'"{hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()}"'


def names_tag(header: str, tag: str, place: str, *, is_weak: bool) -> bool:
    """True if the header's list contains `tag` or is `*`.

    Args:
        place: the header's name.
        is_weak: whether weak tags (`W/`) match: True for `If-None-Match`, False for `If-Match`.

    Raises:
        Rejected: the header is not a list of entity tags.
    """
    if header.strip() == "*":
        return True
    if not header.strip() or _LIST.fullmatch(header) is None:
        raise Rejected(
            "invalid_request",
            "the header is not a list of entity tags",
            place,
            'send the value of an ETag header unchanged, with its quotation marks: "5f1c…"',
        )
    found = _TAGS.findall(header)
    return tag in ([one.removeprefix("W/") for one in found] if is_weak else found)
