"""Where models come from."""

from services.registry.store import models
from shared.bus import Ask, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound
from shared.messages.models import GetLineage, Lineage


class LineageQueries:
    """Answers what is asked of lineage."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {GetLineage: self.on_lineage}

    async def on_lineage(self, ask: Ask, query: GetLineage) -> Lineage:
        """Where a model version comes from."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await models.load_lineage(unit.connection, query.version_id)
        if found is None:
            raise NotFound(f"version {query.version_id}")
        return found
