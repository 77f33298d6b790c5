"""The port: one plan asks for the next line, and says what became of it."""

from collections.abc import Callable
from typing import Protocol

from services.scheduler.core.state.indexes.share_tree import RequestGroup, ShareNode

FeasibleShapes = Callable[[ShareNode | RequestGroup], int]
"""The bits of the shapes that are still worth looking at for a tenant's node, or for a line; it only shrinks."""


class QueueOrder(Protocol):
    """See the module."""

    def next(self, hope: FeasibleShapes) -> RequestGroup | None:
        """The line whose first request goes next, among those with hope; None: nobody is left to try."""
        ...

    def granted(self, line: RequestGroup) -> None:
        """Its first request was served, and its share charged: the next one of the line stands at its own place."""
        ...

    def passed(self, line: RequestGroup) -> None:
        """Nothing can be done for this line in this plan."""
        ...

    def first_of(self, line: RequestGroup) -> int:
        """The index of the line's first request that this plan has not served."""
        ...
