"""What an invariant is: one who looks on, and speaks up."""

from simulator.observers.observer import Observer


class InvariantViolation(AssertionError):
    """An invariant was broken."""


class Invariant(Observer):
    """`words` say what must hold."""

    words = ""

    def broken(self, how: str) -> InvariantViolation:
        return InvariantViolation(f"{self.words}: {how}")
