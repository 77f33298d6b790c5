"""Labels of machines, such as `rack=r7`: one syntax for configs, settings and commands."""

import re
from typing import Annotated

from pydantic import Field

MOST_LABELS = 32
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?"
_READ = re.compile(_PART)

LabelPart = Annotated[str, Field(pattern=f"^{_PART}$")]
"""Key or value of a label: at most 63 letters, digits and `._/-`, starting and ending with a letter or digit."""
Labels = Annotated[dict[LabelPart, LabelPart], Field(max_length=MOST_LABELS)]


def read_labels(text: str) -> dict[str, str]:
    """Parse labels such as `rack=r7,zone=a`, sorted by key; empty text gives none.

    Raises:
        ValueError: An item is not `key=value`, a key is repeated, or there are more than `MOST_LABELS`.
    """
    labels: dict[str, str] = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not is_label(key, value):
            raise ValueError(
                f"{part!r} is not a label: write key=value such as rack=r7, with letters, digits and ._/- only"
            )
        if key in labels:
            raise ValueError(f"label {key} is repeated")
        labels[key] = value
    if len(labels) > MOST_LABELS:
        raise ValueError(f"{len(labels)} labels given: at most {MOST_LABELS} are allowed")
    return dict(sorted(labels.items()))


def is_label(key: str, value: str) -> bool:
    """Return whether key and value are valid in a label."""
    return bool(_READ.fullmatch(key) and _READ.fullmatch(value))
