"""The port: one plan asks for the next line, and says what became of it."""

from collections.abc import Callable
from typing import Protocol

from services.scheduler.core.state.indexes.holders import Line, Node

Hope = Callable[[Node | Line], int]
"""The bits of the shapes that are still worth looking at for a tenant's node, or for a line; it only shrinks."""


class Serving(Protocol):
    """See the module."""

    def next(self, hope: Hope) -> Line | None:
        """The line whose first request goes next, among those with hope; None: nobody is left to try."""
        ...

    def granted(self, line: Line) -> None:
        """Its first request was served, and its share charged: the next one of the line stands at its own place."""
        ...

    def passed(self, line: Line) -> None:
        """Nothing can be done for this line in this plan."""
        ...

    def first_of(self, line: Line) -> int:
        """The index of the line's first request that this plan has not served."""
        ...
