"""Labels of machines, and the constraints of requests. Hashable: machines and requests with equal values are
grouped."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shared.ids import WorkerId

Labels = tuple[tuple[str, str], ...]
"""Keys and values, sorted by key."""


def labels_of(mapping: Mapping[str, str]) -> Labels:
    return tuple(sorted(mapping.items()))


class LabelChoice(NamedTuple):
    """Machines with all required labels and at least `least` of the preferred ones."""

    required: Labels = ()
    preferred: Labels = ()
    least: int = 0

    def holds(self, labels: Labels) -> bool:
        """Whether machines with these labels are included."""
        return has_all(labels, self.required) and how_many(labels, self.preferred) >= self.least


EVERYWHERE = LabelChoice()


@dataclass(frozen=True, slots=True)
class PlacementConstraint:
    """Which machines a request may use and which it prefers.

    Attributes:
        required: Labels that every machine must have.
        preferred: Machines with more of these are tried first.
        excluded: Workers that must not be used.
    """

    required: Labels = ()
    preferred: Labels = ()
    excluded: tuple[WorkerId, ...] = ()

    def admits(self, worker: WorkerId, labels: Labels) -> bool:
        """Whether the request may be placed on this worker."""
        return worker not in self.excluded and has_all(labels, self.required)

    def choices(self) -> tuple["LabelChoice", ...]:
        """Return the groups of machines to try, the most preferred first; the last one contains all allowed
        machines."""
        wanted = tuple(
            LabelChoice(self.required, self.preferred, count) for count in range(len(self.preferred), 0, -1)
        )
        return (*wanted, LabelChoice(self.required))

    def __str__(self) -> str:
        """A phrase for messages: `with rack=r7, other than w1`."""
        parts = (
            [f"with {', '.join(f'{key}={value}' for key, value in self.required)}"] if self.required else []
        )
        if self.excluded:
            parts.append(f"other than {', '.join(self.excluded)}")
        return ", ".join(parts)


def where_of(
    required: Mapping[str, str], preferred: Mapping[str, str], excluded: Iterable[WorkerId]
) -> PlacementConstraint | None:
    """Return the constraint, or None if there is none."""
    where = PlacementConstraint(labels_of(required), labels_of(preferred), tuple(sorted(set(excluded))))
    return None if where == PlacementConstraint() else where


def has_all(labels: Labels, wanted: Labels) -> bool:
    """Whether every wanted label is among the labels."""
    return not wanted or set(wanted).issubset(labels)


def how_many(labels: Labels, wanted: Labels) -> int:
    """Return how many of the wanted labels are present."""
    return len(set(wanted).intersection(labels))
