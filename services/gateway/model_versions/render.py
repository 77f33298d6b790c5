"""Convert the registry's announcements of model versions to API resources."""

from collections.abc import Mapping

from pydantic import JsonValue

from services.gateway.model_versions import schema as versions
from services.gateway.model_versions.comparison import Facts, flatten
from services.gateway.platform.json_values import NotFinite, finite_only, not_finite_only
from services.gateway.platform.references import Row
from shared.messages.lineage import Lineage
from shared.messages.models import VersionChanged

_NOT_FINITE_NAMES = {
    NotFinite.NAN: "NaN",
    NotFinite.INFINITY: "Infinity",
    NotFinite.NEGATIVE_INFINITY: "-Infinity",
}
"""Names of non-finite values as in protobuf's JSON, because a difference may hold any type."""


def render_version(row: Row) -> versions.ModelVersion:
    changed = VersionChanged.model_validate(row.last_event)
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
        image=lineage.image,
    )


def facts_of(version: versions.ModelVersion, files: Mapping[str, str]) -> Facts:
    """Return the properties of a version for a comparison. `files`: SHA-256 by path."""
    lineage = version.lineage
    not_finite = {name: _NOT_FINITE_NAMES[which] for name, which in lineage.not_finite.items()}
    return {
        "metric": {**lineage.metrics, **not_finite},
        "hyperparameter": flatten(lineage.hyperparameters),
        "dataset": {one.name: {"version": one.version, "hash": one.hash} for one in lineage.datasets},
        "code": {"sha256": lineage.code_sha256},
        "step": {"step": lineage.step},
        "signature": _signature(version),
        "size": {"bytes": version.size_bytes},
        "file": dict(files),
    }


def _signature(version: versions.ModelVersion) -> dict[str, JsonValue]:
    if version.signature is None:
        return {}
    ports = {"input": version.signature.inputs, "output": version.signature.outputs}
    return {
        f"{port} {tensor.name}": f"{tensor.dtype}{tensor.shape}"
        for port, tensors in ports.items()
        for tensor in tensors
    }
