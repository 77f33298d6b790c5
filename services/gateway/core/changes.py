"""Which of a tenant's experiments changed since when, as far as this process was told: what is remembered of the others still holds."""

from collections import OrderedDict
from collections.abc import Collection
from uuid import UUID

MOST = 4096


class Changes:
    """Counts changes. Of what changed longest ago is forgotten which it was: it then counts as a change of all."""

    def __init__(self) -> None:
        self.mark = 0
        """How many changes there were; to be asked for before something is looked at."""
        self._of_all = 0
        self._of: OrderedDict[UUID, int] = OrderedDict()

    def note(self, about: Collection[UUID] | None) -> None:
        """Something changed: of these experiments, or, where nobody knows (None), perhaps of any."""
        self.mark += 1
        if about is None:
            self._of.clear()
            self._of_all = self.mark
            return
        for entity in about:
            self._of[entity] = self.mark
            self._of.move_to_end(entity)
        while len(self._of) > MOST:
            self._of_all = self._of.popitem(last=False)[1]

    def since(self, mark: int, entity: UUID) -> bool:
        """True when an experiment may have changed since a mark was asked for."""
        return max(self._of_all, self._of.get(entity, 0)) > mark
