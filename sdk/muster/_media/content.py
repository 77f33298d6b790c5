"""Encoded media."""

from dataclasses import dataclass, field

from muster.errors import Rejected
from muster.wire import MAX_MEDIA_BYTES, Json

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "application/json": "json",
    "text/plain": "txt",
    "text/markdown": "md",
}
"""File extensions by content type."""


@dataclass(frozen=True, slots=True)
class Content:
    """Encoded bytes with their type and description."""

    content_type: str
    body: bytes
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def extension(self) -> str:
        """File extension of the content."""
        return EXTENSIONS[self.content_type]


def bounded(content: Content, what: str, hint: str) -> Content:
    """Return the content if it is within the size limit.

    Raises:
        Rejected: The content is too large.
    """
    if len(content.body) > MAX_MEDIA_BYTES:
        raise Rejected(
            "media_too_large",
            f"{what} has {len(content.body)} bytes, more than the limit of {MAX_MEDIA_BYTES}",
            hint=hint,
        )
    return content
