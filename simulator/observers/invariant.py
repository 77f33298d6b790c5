"""The base class of invariants."""

from simulator.observers.observer import Observer


class InvariantViolation(AssertionError):
    """An invariant was violated."""


class Invariant(Observer):
    """`words` states what must hold."""

    words = ""

    def broken(self, how: str) -> InvariantViolation:
        return InvariantViolation(f"{self.words}: {how}")
