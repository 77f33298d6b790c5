"""From what the registry says of models to what users see."""

from typing import Any

from services.gateway.lineage import schema as graphs
from services.gateway.model_versions import schema as versions
from services.gateway.models import schema as models
from services.gateway.trials.render import finite_only, not_finite_only
from shared.messages.lineage import Lineage, LineageGraph
from shared.messages.models import ModelChanged, VersionChanged

Row = Any
"""A row of SQLAlchemy, whose columns are attributes."""


def render_model(row: Row) -> models.Model:
    changed = ModelChanged.model_validate(row.changed)
    shared = {"name", "workspace", "description", "notes", "tags", "metadata", "approvals", "versions"}
    return models.Model.model_validate(
        changed.model_dump(include=shared | {"aliases", "created_at", "changed_by", "version"})
        | {"id": changed.model_id, "owner": changed.by}
    )


def render_version(row: Row) -> versions.ModelVersion:
    changed = VersionChanged.model_validate(row.changed)
    shared = {"model_name", "number", "name", "comment", "notes", "tags", "metadata", "signature", "stage"}
    more = {"pending", "stages", "files", "size_bytes", "created_at", "changed_by", "version"}
    return versions.ModelVersion.model_validate(
        changed.model_dump(include=shared | more)
        | {
            "id": changed.version_id,
            "model": changed.model_id,
            "checkpoint": changed.checkpoint_id,
            "owner": changed.by,
            "lineage": _lineage(changed.lineage),
        }
    )


def render_graph(graph: LineageGraph) -> graphs.LineageGraph:
    return graphs.LineageGraph.model_validate(graph.model_dump())


def _lineage(lineage: Lineage) -> versions.ModelLineage:
    return versions.ModelLineage(
        experiment=lineage.experiment_id,
        trial=lineage.trial_id,
        run=lineage.run_id,
        checkpoint=lineage.checkpoint_id,
        step=lineage.step,
        code_sha256=lineage.code_hash,
        hyperparameters=lineage.hyperparameters,
        metrics=finite_only(lineage.metrics),
        not_finite=not_finite_only(lineage.metrics),
        datasets=[versions.DatasetReference.model_validate(one.model_dump()) for one in lineage.datasets],
        start_checkpoint=lineage.start_checkpoint,
    )
