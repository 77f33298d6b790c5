"""The base class of invariants."""

from simulator.observers.observer import Observer


class InvariantViolation(AssertionError):
    """An invariant was violated."""


class Invariant(Observer):
    """`rule` states what must hold."""

    rule = ""

    def broken(self, how: str) -> InvariantViolation:
        return InvariantViolation(f"{self.rule}: {how}")
