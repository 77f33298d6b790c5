"""Placement preferences of an elastic run: its own machines, one topology domain, preferred labels. Used by
`packing`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex, Placement
from services.scheduler.core.state.indexes.placement.placement_index import Domains
from services.scheduler.core.state.records.labels import PlacementConstraint, how_many
from shared.ids import WorkerId

Rank = tuple[int, int, int]
"""Its chief's machine, another of its own, or neither; preferred labels, descending; topology levels to the
chief's machine."""


@dataclass(frozen=True, slots=True)
class MachinePreference:
    """Excluded machines (`barred`), and how many of the preferred labels each machine has (`preferred`)."""

    barred: frozenset[WorkerId] = frozenset()
    preferred: Mapping[WorkerId, int] = field(default_factory=dict)


ANY = MachinePreference()


class MachinePreferences:
    """The preferences of runs in a pool, computed once for equal constraints."""

    def __init__(self, capacity: CapacityIndex, held: Iterable[Placement]) -> None:
        """`held`: current placements, possibly on machines that accept nothing more."""
        self._capacity = capacity
        self._closed = frozenset(worker for place in held for worker, _ in place if worker not in capacity)
        self._read: dict[PlacementConstraint, MachinePreference] = {}

    def of(self, where: PlacementConstraint | None, held: Placement) -> MachinePreference:
        """Return the preferences of a run that is `held` there. Slots that other runs release on machines that
        accept nothing more are excluded."""
        taste = ANY if where is None else self._read.get(where)
        if taste is None:
            assert where is not None
            taste = self._read[where] = self._taste(where)
        closed = self._closed.difference(worker for worker, _ in held)
        return replace(taste, barred=taste.barred | closed) if closed else taste

    def _taste(self, where: PlacementConstraint) -> MachinePreference:
        labels = {worker: self._capacity.labels(worker) for worker, _ in self._capacity.spots()}
        barred = frozenset(worker for worker, has in labels.items() if not where.admits(worker, has))
        return MachinePreference(
            barred, {worker: how_many(has, where.preferred) for worker, has in labels.items()}
        )


class MachineAffinity:
    """How near each machine is for one run.

    Args:
        held: Its current placement, the chief first; empty: none yet.
        domains: Each machine's domains at each topology level, from narrow to wide.
    """

    def __init__(
        self, held: Placement, taste: MachinePreference, domains: Mapping[WorkerId, Domains]
    ) -> None:
        self._mine = {worker: min(number, 1) for number, (worker, _) in enumerate(held)}
        self._preferred = taste.preferred
        self._domains = domains
        self._home: Domains = domains.get(held[0][0], ()) if held else ()

    def rank(self, worker: WorkerId) -> Rank:
        """Return the sort key of a machine; lower is better."""
        mine = self._mine.get(worker, 2)
        return mine, -self._preferred.get(worker, 0), self._distance(worker)

    def groups(self, workers: Sequence[WorkerId]) -> Iterator[list[list[WorkerId]]]:
        """Yield groups of machines to search for a gang: by domain at the narrowest level, the run's own domain
        first, then the smallest; finally all machines. At each level machines with more of the preferred labels
        come first. The order of `workers` is kept."""
        levels = max((len(self._domains.get(worker, ())) for worker in workers), default=0)
        counts = sorted({self._preferred.get(worker, 0) for worker in workers}, reverse=True)
        for level in range(levels + 1):
            for least in counts:
                preferred = [worker for worker in workers if self._preferred.get(worker, 0) >= least]
                yield self._by_domain(preferred, level) if level < levels else [preferred]

    def _by_domain(self, workers: Sequence[WorkerId], level: int) -> list[list[WorkerId]]:
        found: dict[tuple[str, ...], list[WorkerId]] = {}
        for worker in workers:
            domain = self._domains[worker][level]
            if domain is not None:
                found.setdefault(domain, []).append(worker)
        home = self._home[level] if level < len(self._home) else None
        order = sorted(found, key=lambda domain: (domain != home, len(found[domain]), domain))
        return [found[domain] for domain in order]

    def _distance(self, worker: WorkerId) -> int:
        theirs = self._domains.get(worker, ())
        for level, (domain, home) in enumerate(zip(theirs, self._home, strict=False)):
            if domain is not None and domain == home:
                return level
        return len(theirs)
