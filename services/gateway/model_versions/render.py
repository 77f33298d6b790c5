"""From the registry's announcements of model versions to what users see."""

from services.gateway.model_versions import schema as versions
from services.gateway.platform.json_values import finite_only, not_finite_only
from services.gateway.platform.references import Row
from shared.messages.lineage import Lineage
from shared.messages.models import VersionChanged


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
