"""Export metrics and trial tables. The registry writes the files; the gateway checks permissions."""

from services.gateway.checkpoints.schema import FileDownload
from services.gateway.experiments.find import find_experiment
from services.gateway.exports.schema import Export, ExportMetricsRequest, ExportRequest, ExportTableRequest
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.trial_tables.config_columns import declared_by
from shared.ids import ExperimentId
from shared.messages.exports import ExportMetrics, ExportTable


async def export_metrics(call: Call, request: ExportMetricsRequest) -> Export:
    """Export an experiment's metrics as Arrow or Parquet files. Poll until the files are ready."""
    experiment = await find_experiment(call, request.experiment)
    question = ExportMetrics(
        experiment_id=ExperimentId(experiment.id),
        format=request.format.value,
        group=request.group,
        names=tuple(request.name),
        export_id=request.export,
        first=_first(call, request),
    )
    return await _ask(call, request, question)


async def export_table(call: Call, request: ExportTableRequest) -> Export:
    """Export the table of an experiment's trials as Arrow or Parquet files. Poll until the files are ready."""
    experiment = await find_experiment(call, request.experiment)
    question = ExportTable(
        experiment_id=ExperimentId(experiment.id),
        format=request.format.value,
        filter=request.filter,
        sort=request.sort,
        columns=tuple(request.column),
        declared=declared_by(experiment),
        export_id=request.export,
        first=_first(call, request),
    )
    return await _ask(call, request, question)


def _first(call: Call, request: ExportRequest) -> int:
    position = read_cursor(call, request, request.cursor)
    return int(str(position[0])) if position else 0


async def _ask(call: Call, request: ExportRequest, question: ExportMetrics | ExportTable) -> Export:
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    files = [FileDownload.model_validate(file.model_dump()) for file in found.files]
    cursor = make_cursor(call, request, [found.next]) if found.next is not None else None
    return Export(id=found.export_id, ready=found.is_ready, rows=found.rows, files=files, next_cursor=cursor)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ExportMetrics", "GET", "/v1/experiments/{experiment}/metrics/export", ExportMetricsRequest, Export, READ_EXPERIMENT, SAFE, export_metrics, waits=True),
    Operation("ExportTable", "GET", "/v1/experiments/{experiment}/table/export", ExportTableRequest, Export, READ_EXPERIMENT, SAFE, export_table, waits=True),
)
# fmt: on
