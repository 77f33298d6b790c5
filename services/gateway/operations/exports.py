"""Exports of metrics: the registry's to write, ours to check whose they are."""

from services.gateway.api.checkpoints import FileDownload
from services.gateway.api.exports import Export, ExportMetricsRequest
from services.gateway.operations.call import Call
from services.gateway.operations.find import find_experiment
from shared.ids import ExperimentId
from shared.messages.exports import ExportMetrics


async def export_metrics(call: Call, request: ExportMetricsRequest) -> Export:
    """Writes an experiment's metrics as Arrow or Parquet files, and says where they are once they are written."""
    experiment = await find_experiment(call, request.experiment)
    question = ExportMetrics(
        experiment_id=ExperimentId(experiment.id),
        format=request.format.value,
        group=request.group,
        names=tuple(request.name),
        export_id=request.export,
    )
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    files = [FileDownload.model_validate(file.model_dump()) for file in found.files]
    return Export(id=found.export_id, ready=found.is_ready, rows=found.rows, files=files)
