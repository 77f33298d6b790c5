"""State machines as literal tables: one per entity, in a file of its own. Nothing else assigns a state."""

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from shared.errors import Broken

S = TypeVar("S", bound=str)
T = TypeVar("T", bound=str)


class StateMachine(Generic[S, T]):
    """The life of one kind of entity.

    Attributes:
        name: The entity's word, for errors.
        initial: Where a new entity begins.
        table: Every edge that changes something (or is worth acting on, when it leads back to its own state).
        ignored: Late or repeated triggers that are expected in a state and change nothing.
        final: States without a way out; every trigger there is expected and changes nothing.
    """

    def __init__(
        self,
        name: str,
        initial: S,
        table: Mapping[tuple[S, T], S],
        ignored: Collection[tuple[S, T]] = (),
        final: Collection[S] = (),
    ) -> None:
        self.name = name
        self.initial = initial
        self.table = dict(table)
        self.ignored = frozenset(ignored)
        self.final = frozenset(final)
        self._refuse_contradictions()

    def next(self, state: S, trigger: T) -> S:
        """Return the state after `trigger`; the same one where the trigger is ignored.

        Raises:
            Broken: Nobody foresaw this trigger in this state.
        """
        after = self.table.get((state, trigger))
        if after is not None:
            return after
        if state in self.final or (state, trigger) in self.ignored:
            return state
        raise Broken(f"{self.name} in state '{state}' has no edge for '{trigger}'", code="missing_edge")

    def moves(self, state: S, trigger: T) -> bool:
        """Whether `trigger` has an edge here: False where it is ignored or unknown."""
        return (state, trigger) in self.table

    def reachable(self) -> frozenset[S]:
        """Every state that an entity can come to."""
        seen = {self.initial}
        while fresh := {after for (before, _), after in self.table.items() if before in seen} - seen:
            seen |= fresh
        return frozenset(seen)

    def _refuse_contradictions(self) -> None:
        if both := self.ignored & self.table.keys():
            raise Broken(f"{self.name}: {sorted(both)} are ignored and have an edge", code="bad_table")
        if left := {before for before, _ in self.table} & self.final:
            raise Broken(f"{self.name}: {sorted(left)} are final and have an edge", code="bad_table")
