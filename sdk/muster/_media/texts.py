"""Encoding of texts."""

from muster._media.content import Content, bounded
from muster.errors import Rejected


def text_of(text: object) -> Content:
    """Return a text unchanged; it is rendered as Markdown.

    Raises:
        Rejected: The value is not a string, or it is too long.
    """
    if not isinstance(text, str):
        raise Rejected(
            "text_invalid",
            f"a text must be a str, not {type(text).__name__}",
            place="text",
            hint="convert it with str(…)",
        )
    return bounded(
        Content("text/plain", text.encode("utf-8", "replace")),
        "the text",
        "log a part of it, or save it as a file",
    )
