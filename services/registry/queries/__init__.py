"""What other services ask: metrics, media, logs, checkpoints, code, lineage and retention, one file an entity. Places for artifacts: `uploads`."""

from services.registry.links import Links
from services.registry.logs.reader import LogReader
from services.registry.queries.checkpoints import CheckpointQueries
from services.registry.queries.code import CodeQueries
from services.registry.queries.lineage import LineageQueries
from services.registry.queries.logs import LogQueries
from services.registry.queries.media import MediaQueries
from services.registry.queries.metrics import MetricQueries
from services.registry.queries.retention import RetentionQueries
from services.registry.queries.tables import TableQueries
from shared.bus import Units
from shared.bus.responder import Answer, Question


class Queries:
    """Answers `qry.v1.registry.*`, but for uploads."""

    def __init__(self, units: Units, links: Links, logs: LogReader) -> None:
        self._parts = (
            MetricQueries(units),
            TableQueries(units),
            LogQueries(units, logs),
            MediaQueries(units, links),
            CheckpointQueries(units, links),
            CodeQueries(units, links.objects),
            LineageQueries(units),
            RetentionQueries(units),
        )

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {question: answer for part in self._parts for question, answer in part.answers().items()}
