"""What one piece of media is made of."""

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
"""What files of each type are called."""


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes of a type, and what is said about them."""

    content_type: str
    body: bytes
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def extension(self) -> str:
        """How its file's name ends."""
        return EXTENSIONS[self.content_type]


def bounded(content: Content, what: str, hint: str) -> Content:
    """Return what is small enough.

    Raises:
        Rejected: It is not.
    """
    if len(content.body) > MAX_MEDIA_BYTES:
        raise Rejected(
            "media_too_large",
            f"{what} has {len(content.body)} bytes, and at most {MAX_MEDIA_BYTES} are kept",
            hint=hint,
        )
    return content
