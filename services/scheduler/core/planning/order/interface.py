"""The order interface: a plan asks for the next request group and reports the result."""

from collections.abc import Callable
from typing import Protocol

from services.scheduler.core.state.indexes.share_tree import RequestGroup, ShareNode

FeasibleShapes = Callable[[ShareNode | RequestGroup], int]
"""Returns the mask of feasible shapes for a tenant's node or a request group; it only shrinks during a plan."""


class QueueOrder(Protocol):
    """See the module."""

    def next(self, feasible: FeasibleShapes) -> RequestGroup | None:
        """Return the group whose first request goes next, among those with a feasible shape; None: none is left."""
        ...

    def granted(self, line: RequestGroup) -> None:
        """The first request of the group was served and charged. The group continues with its next request."""
        ...

    def passed(self, line: RequestGroup) -> None:
        """The group cannot be served in this plan."""
        ...

    def first_of(self, line: RequestGroup) -> int:
        """Return the index of the group's first unserved request."""
        ...
