"""What an invariant is: one who looks on, and speaks up."""

from simulator.watching.watch import Watch


class Breach(AssertionError):
    """An invariant was broken."""


class Invariant(Watch):
    """`words` say what must hold."""

    words = ""

    def broken(self, how: str) -> Breach:
        return Breach(f"{self.words}: {how}")
