"""State machines as tables: one per entity, in its own file. Nothing else assigns a state."""

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from shared.errors import Broken

S = TypeVar("S", bound=str)
T = TypeVar("T", bound=str)


class StateMachine(Generic[S, T]):
    """State machine of one kind of entity.

    Attributes:
        name: Name of the entity, for errors.
        initial: State of a new entity.
        table: All transitions that change something, or that lead back to the same state but require action.
        ignored: Late or repeated triggers that are expected in a state and change nothing.
        final: States without transitions; every trigger there is expected and changes nothing.
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
        """Return the state after `trigger`; the same state if the trigger is ignored.

        Raises:
            Broken: The table has no entry for this trigger in this state.
        """
        after = self.table.get((state, trigger))
        if after is not None:
            return after
        if state in self.final or (state, trigger) in self.ignored:
            return state
        raise Broken(f"{self.name} in state '{state}' has no transition for '{trigger}'", code="missing_edge")

    def moves(self, state: S, trigger: T) -> bool:
        """Return whether `trigger` has a transition here: False if it is ignored or unknown."""
        return (state, trigger) in self.table

    def reachable(self) -> frozenset[S]:
        """Return every state that an entity can reach."""
        seen = {self.initial}
        while fresh := {after for (before, _), after in self.table.items() if before in seen} - seen:
            seen |= fresh
        return frozenset(seen)

    def _refuse_contradictions(self) -> None:
        if both := self.ignored & self.table.keys():
            raise Broken(f"{self.name}: {sorted(both)} are both ignored and transitions", code="bad_table")
        if left := {before for before, _ in self.table} & self.final:
            raise Broken(f"{self.name}: {sorted(left)} are final but have transitions", code="bad_table")
