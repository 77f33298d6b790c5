"""Labels of machines as the core has them: hashable, since machines with equal labels are of one class."""

from collections.abc import Mapping

Labels = tuple[tuple[str, str], ...]
"""Key and value, in order of the keys."""


def labels_of(mapping: Mapping[str, str]) -> Labels:
    return tuple(sorted(mapping.items()))
