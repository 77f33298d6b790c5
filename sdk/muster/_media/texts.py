"""Texts."""

from muster._media.content import Content, bounded
from muster.errors import Rejected


def text_of(text: object) -> Content:
    """Return a text as it stands; TensorBoard shows it as markdown.

    Raises:
        Rejected: It is no text, or too long.
    """
    if not isinstance(text, str):
        raise Rejected(
            "text_invalid", f"a text is a str, not {type(text).__name__}", place="text", hint="give str(…)"
        )
    return bounded(
        Content("text/plain", text.encode("utf-8", "replace")), "the text", "log a part of it, or save a file"
    )
