"""Queries of other services, collected from each package's `queries`. `code.uploads` has those for code uploads."""

from services.registry.checkpoints.queries import CheckpointQueries
from services.registry.code.queries import CodeQueries
from services.registry.lineage.queries import LineageQueries
from services.registry.logs.queries import LogQueries
from services.registry.logs.reader import LogReader
from services.registry.media.queries import MediaQueries
from services.registry.retention.queries import RetentionQueries
from services.registry.series.queries import MetricQueries
from services.registry.storage.links import PresignedUrls
from services.registry.trial_table.queries import TableQueries
from shared.bus import Units
from shared.bus.responder import Answer, Question


class RegistryQueries:
    """Answers `qry.v1.registry.*`, except uploads."""

    def __init__(self, units: Units, links: PresignedUrls, logs: LogReader) -> None:
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
        """Return the answers for the responder."""
        return {question: answer for part in self._parts for question, answer in part.answers().items()}
