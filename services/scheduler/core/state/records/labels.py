"""Labels of machines, and what a request wants of them. Hashable: machines with equal labels are of one class, requests too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shared.ids import WorkerId

Labels = tuple[tuple[str, str], ...]
"""Key and value, in order of the keys."""


def labels_of(mapping: Mapping[str, str]) -> Labels:
    return tuple(sorted(mapping.items()))


class LabelChoice(NamedTuple):
    """Machines that have all required labels, and at least so many of the preferred ones."""

    required: Labels = ()
    preferred: Labels = ()
    least: int = 0

    def holds(self, labels: Labels) -> bool:
        """Whether machines with these labels are among them."""
        return has_all(labels, self.required) and how_many(labels, self.preferred) >= self.least


EVERYWHERE = LabelChoice()


@dataclass(frozen=True, slots=True)
class PlacementConstraint:
    """On which machines a request may be placed, and on which it would rather be.

    Attributes:
        required: Every machine has these.
        preferred: Machines that have more of them are tried before those that have fewer.
        excluded: None of these.
    """

    required: Labels = ()
    preferred: Labels = ()
    excluded: tuple[WorkerId, ...] = ()

    def admits(self, worker: WorkerId, labels: Labels) -> bool:
        """Whether it may be placed there."""
        return worker not in self.excluded and has_all(labels, self.required)

    def choices(self) -> tuple["LabelChoice", ...]:
        """The machines to be tried, the most wanted first; the last are all that may be."""
        wanted = tuple(
            LabelChoice(self.required, self.preferred, count) for count in range(len(self.preferred), 0, -1)
        )
        return (*wanted, LabelChoice(self.required))

    def __str__(self) -> str:
        """As a sentence goes on with it: `with rack=r7, other than w1`."""
        parts = (
            [f"with {', '.join(f'{key}={value}' for key, value in self.required)}"] if self.required else []
        )
        if self.excluded:
            parts.append(f"other than {', '.join(self.excluded)}")
        return ", ".join(parts)


def where_of(
    required: Mapping[str, str], preferred: Mapping[str, str], excluded: Iterable[WorkerId]
) -> PlacementConstraint | None:
    """None: anywhere."""
    where = PlacementConstraint(labels_of(required), labels_of(preferred), tuple(sorted(set(excluded))))
    return None if where == PlacementConstraint() else where


def has_all(labels: Labels, wanted: Labels) -> bool:
    """Whether every wanted label is among the labels."""
    return not wanted or set(wanted).issubset(labels)


def how_many(labels: Labels, wanted: Labels) -> int:
    """How many of the wanted labels are among the labels."""
    return len(set(wanted).intersection(labels))
