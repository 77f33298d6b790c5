"""Labels of machines, such as `rack=r7`: one grammar for configs, settings and commands."""

import re
from typing import Annotated

from pydantic import Field

MOST_LABELS = 32
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?"
_READ = re.compile(_WORD)

LabelPart = Annotated[str, Field(pattern=f"^{_WORD}$")]
"""A label's key or its value: at most 63 letters, digits and `._/-`, a letter or digit at both ends."""
Labels = Annotated[dict[LabelPart, LabelPart], Field(max_length=MOST_LABELS)]


def read_labels(text: str) -> dict[str, str]:
    """Return the labels of `rack=r7,zone=a`, in order of their keys; of an empty text none.

    Raises:
        ValueError: A part is no `key=value`, a key comes twice, or there are more than `MOST_LABELS`.
    """
    labels: dict[str, str] = {}
    for part in filter(None, (word.strip() for word in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not is_label(key, value):
            raise ValueError(f"{part!r} is no label: write rack=r7, with letters, digits and ._/- only")
        if key in labels:
            raise ValueError(f"label {key} is given twice")
        labels[key] = value
    if len(labels) > MOST_LABELS:
        raise ValueError(f"{len(labels)} labels are more than {MOST_LABELS}")
    return dict(sorted(labels.items()))


def is_label(key: str, value: str) -> bool:
    """Return whether both are written as a label's key and value must be."""
    return bool(_READ.fullmatch(key) and _READ.fullmatch(value))
