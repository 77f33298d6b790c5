"""Registered models and their versions, and where things come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.client import models
from muster.client.download import OnBytes, fetch_into
from muster.client.models import JsonObject
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Query, Reference, Transport, segment
from muster.errors import Rejected


def split_version(reference: str) -> tuple[str, str]:
    """Return model and version of `model@version`; a model alone means its latest.

    Raises:
        Rejected: The model or the version is missing.
    """
    model, at, version = reference.rpartition("@")
    if not at:
        return reference, "latest"
    if not (model and version):
        raise Rejected(
            "bad_reference",
            f"{reference!r} names no version",
            hint="write model@version, such as digits@champion, digits@3 or digits@latest",
        )
    return model, version


class Models:
    """Registered models; a reference is a name, `workspace/name` or an id, a version's a number, an alias, or `latest`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        *,
        workspace: str | None = None,
        description: str = "",
        notes: str = "",
        tags: Sequence[str] = (),
        metadata: JsonObject | None = None,
        approvals: Mapping[str, int] | None = None,
    ) -> models.Model:
        """Create a model, to which versions can be added. `approvals`: how many people must agree before a version comes to a stage."""
        body: JsonObject = {
            "name": name,
            "workspace": workspace,
            "description": description,
            "notes": notes,
            "tags": list(tags),
            "metadata": metadata or {},
            "approvals": dict(approvals or {}),
        }
        return self._transport.post(models.Model, "/v1/models", body)

    def list(
        self,
        *,
        name_contains: str | None = None,
        workspace: str | None = None,
        tag: str | None = None,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.Model]:
        """Return the models by name, or as they are sorted; `filter` as `tags contains vision and versions > 3`."""
        query: Query = {
            "name_contains": name_contains,
            "workspace": workspace,
            "tag": tag,
            **ordered(filter, sort),
        }
        return pages(self._transport, models.ModelPage, "/v1/models", query)

    def get(self, model: Reference) -> models.Model:
        """Return one model."""
        return self._transport.get(models.Model, _path(model))

    def edit(
        self,
        model: Reference,
        *,
        description: str | None = None,
        notes: str | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        metadata: JsonObject | None = None,
        approvals: Mapping[str, int] | None = None,
        expected_version: int | None = None,
    ) -> models.Model:
        """Change what is written about a model, or how many people must agree to a stage; what is left out stays."""
        body: JsonObject = {
            "description": description,
            "notes": notes,
            "add_tags": list(add_tags),
            "remove_tags": list(remove_tags),
            "metadata": metadata,
            "approvals": dict(approvals or {}),
            "expected_version": expected_version,
        }
        return self._transport.patch(models.Model, _path(model), body)

    def delete(self, model: Reference, reason: str) -> models.Model:
        """Delete a model with all its versions, none of which may be in use."""
        return self._transport.delete(models.Model, _path(model), {"reason": reason})

    def set_alias(self, model: Reference, alias: str, version: Reference) -> models.Model:
        """Let an alias name a version, from now on no other."""
        path = f"{_path(model)}/aliases/{segment(alias)}"
        return self._transport.put(models.Model, path, {"version": str(version)})

    def delete_alias(self, model: Reference, alias: str) -> models.Model:
        """Take an alias away; the version that it named stays."""
        return self._transport.delete(models.Model, f"{_path(model)}/aliases/{segment(alias)}")

    def register(
        self,
        model: Reference,
        checkpoint: Reference,
        *,
        name: str = "",
        comment: str = "",
        notes: str = "",
        tags: Sequence[str] = (),
        metadata: JsonObject | None = None,
        signature: JsonObject | None = None,
    ) -> models.ModelVersion:
        """Make a saved checkpoint the next version of a model. `signature`: `inputs` and `outputs`, each with name, dtype and shape."""
        body: JsonObject = {
            "checkpoint": str(checkpoint),
            "name": name,
            "comment": comment,
            "notes": notes,
            "tags": list(tags),
            "metadata": metadata or {},
            "signature": signature,
        }
        return self._transport.post(models.ModelVersion, f"{_path(model)}/versions", body)

    def versions(self, model: Reference, *, filter: str = "", sort: str = "") -> Items[models.ModelVersion]:
        """Return a model's versions, newest first or as they are sorted; `filter` as `stage = production and tags contains eu`."""
        path = f"{_path(model)}/versions"
        return pages(self._transport, models.ModelVersionPage, path, ordered(filter, sort))

    def version(self, model: Reference, version: Reference = "latest") -> models.ModelVersion:
        """Return one version."""
        return self._transport.get(models.ModelVersion, _path(model, version))

    def edit_version(
        self,
        model: Reference,
        version: Reference,
        *,
        comment: str | None = None,
        notes: str | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        expected_version: int | None = None,
    ) -> models.ModelVersion:
        """Change what is written about a version; what it is made of cannot be changed."""
        body: JsonObject = {
            "comment": comment,
            "notes": notes,
            "add_tags": list(add_tags),
            "remove_tags": list(remove_tags),
            "expected_version": expected_version,
        }
        return self._transport.patch(models.ModelVersion, _path(model, version), body)

    def delete_version(self, model: Reference, version: Reference, reason: str) -> models.ModelVersion:
        """Delete a version that no alias names and that is not in production."""
        return self._transport.delete(models.ModelVersion, _path(model, version), {"reason": reason})

    def compare(self, model: Reference, base: Reference, other: Reference) -> models.ModelComparison:
        """Return what differs between two versions of a model."""
        query = {"base": str(base), "other": str(other)}
        return self._transport.get(models.ModelComparison, f"{_path(model)}/compare", query)

    def set_stage(
        self, model: Reference, version: Reference, stage: str, reason: str = ""
    ) -> models.ModelVersion:
        """Bring a version to a stage, or ask for the approvals that this takes: its `pending` says so."""
        body: JsonObject = {"stage": stage, "reason": reason}
        return self._transport.post(models.ModelVersion, f"{_path(model, version)}/stage", body)

    def approve(self, model: Reference, version: Reference, reason: str = "") -> models.ModelVersion:
        """Agree to the change of stage that waits; who asked for it cannot."""
        path = f"{_path(model, version)}/stage/approve"
        return self._transport.post(models.ModelVersion, path, {"reason": reason})

    def reject(self, model: Reference, version: Reference, reason: str = "") -> models.ModelVersion:
        """End the change of stage that waits; the version stays where it is."""
        path = f"{_path(model, version)}/stage/reject"
        return self._transport.post(models.ModelVersion, path, {"reason": reason})

    def record_use(
        self,
        model: Reference,
        version: Reference,
        kind: str,
        reference: str,
        metadata: JsonObject | None = None,
    ) -> models.ModelVersion:
        """Record that something used a version, such as an `inference` by its own id; lineage shows it."""
        body: JsonObject = {"kind": kind, "reference": reference, "metadata": metadata or {}}
        return self._transport.post(models.ModelVersion, f"{_path(model, version)}/uses", body)

    def lineage(self, kind: str, reference: Reference) -> models.LineageGraph:
        """Return what a thing came from and what came of it.

        Args:
            kind: dataset, code, experiment, trial, checkpoint, version or consumer.
            reference: An id; for a dataset `name` or `name@version`, for a version also `digits@champion`, for a trial also 31.4.
        """
        query = {"kind": kind, "id": str(reference)}
        return self._transport.get(models.LineageGraph, "/v1/lineage", query)

    def download(
        self,
        model: Reference,
        directory: Path,
        version: Reference = "latest",
        on_bytes: OnBytes | None = None,
    ) -> models.Download:
        """Fetch a version's files into `directory`, checked by size and SHA-256, all or none."""
        path = f"{_path(model, version)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes)


def _path(model: Reference, version: Reference | None = None) -> str:
    path = f"/v1/models/{segment(model)}"
    return path if version is None else f"{path}/versions/{segment(version)}"
