"""Registered models and their versions. A model reference is a name, `workspace/name` or an id; a version reference is a number, an alias or `latest`.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.models` has the other methods.
"""

from collections.abc import Mapping, Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.handwritten.models import HandwrittenModels
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject


class Models(HandwrittenModels):
    """Registered models and their versions. A model reference is a name, `workspace/name` or an id; a version reference is a number, an alias or `latest`."""

    def create(
        self,
        name: str,
        *,
        workspace: Reference | None = None,
        description: str = "",
        notes: str = "",
        tags: Sequence[str] = (),
        metadata: JsonObject | None = None,
        approvals: Mapping[str, int] | None = None,
    ) -> models.Model:
        """Create a model, to which versions can then be added.

        Args:
            workspace: Workspace; by default `Uncategorized`.
            notes: Notes in Markdown.
            approvals: Number of approvals that a version needs to enter a stage, besides the requester.
        """
        return self._transport.post(
            models.Model,
            "/v1/models",
            json_body(
                name=name,
                workspace=text(workspace),
                description=description,
                notes=notes,
                tags=tags,
                metadata=metadata,
                approvals=approvals,
            ),
        )

    def list(
        self,
        *,
        name_contains: str | None = None,
        workspace: Reference | None = None,
        tag: str | None = None,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.Model]:
        """List the models, by name by default.

        Args:
            tag: Return only models with this tag.
            filter: An expression over `name`, `workspace`, `description`, `tags`, `owner`, `versions`, `created_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.ModelPage,
            "/v1/models",
            query_params(
                name_contains=name_contains, workspace=text(workspace), tag=tag, filter=filter, sort=sort
            ),
        )

    def get(self, model: Reference) -> models.Model:
        """Show one model."""
        return self._transport.get(models.Model, f"/v1/models/{segment(model)}")

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
        """Edit the description, notes, tags, metadata or required approvals of a model.

        Args:
            approvals: Number of approvals that a version needs to enter a stage, besides the requester.
            expected_version: Refuse the change if the model's `version` differs.
        """
        return self._transport.patch(
            models.Model,
            f"/v1/models/{segment(model)}",
            json_body(
                description=description,
                notes=notes,
                add_tags=add_tags or None,
                remove_tags=remove_tags or None,
                metadata=metadata,
                approvals=approvals,
                expected_version=expected_version,
            ),
        )

    def delete(self, model: Reference, reason: str) -> models.Model:
        """Delete a model with all its versions. Refused if a version is in use. The name becomes available again."""
        return self._transport.delete(
            models.Model, f"/v1/models/{segment(model)}", query_params(reason=reason)
        )

    def set_alias(self, model: Reference, alias: Reference, version: Reference) -> models.Model:
        """Point an alias to a version. An existing alias moves."""
        return self._transport.put(
            models.Model,
            f"/v1/models/{segment(model)}/aliases/{segment(alias)}",
            json_body(version=text(version)),
        )

    def delete_alias(self, model: Reference, alias: Reference) -> models.Model:
        """Delete an alias. The version stays."""
        return self._transport.delete(models.Model, f"/v1/models/{segment(model)}/aliases/{segment(alias)}")

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
        """Register a saved checkpoint as the next version of a model.

        Args:
            notes: Notes in Markdown.
        """
        return self._transport.post(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions",
            json_body(
                checkpoint=text(checkpoint),
                name=name,
                comment=comment,
                notes=notes,
                tags=tags,
                metadata=metadata,
                signature=signature,
            ),
        )

    def versions(self, model: Reference, *, filter: str = "", sort: str = "") -> Items[models.ModelVersion]:
        """List the versions of a model, newest first by default.

        Args:
            filter: An expression over `number`, `name`, `comment`, `tags`, `stage`, `checkpoint`, `files`,
                `size_bytes`, `owner`, `created_at`, `lineage.experiment`, `lineage.trial`, `lineage.step`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.ModelVersionPage,
            f"/v1/models/{segment(model)}/versions",
            query_params(filter=filter, sort=sort),
        )

    def version(self, model: Reference, version: Reference = "latest") -> models.ModelVersion:
        """Show one version of a model with its lineage."""
        return self._transport.get(
            models.ModelVersion, f"/v1/models/{segment(model)}/versions/{segment(version)}"
        )

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
        """Edit the comment, notes or tags of a version. Its content cannot be changed.

        Args:
            expected_version: Refuse the change if the current `version` differs.
        """
        return self._transport.patch(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}",
            json_body(
                comment=comment,
                notes=notes,
                add_tags=add_tags or None,
                remove_tags=remove_tags or None,
                expected_version=expected_version,
            ),
        )

    def delete_version(self, model: Reference, version: Reference, reason: str) -> models.ModelVersion:
        """Delete a version. Refused if an alias names it or it is in production. Its number is not reused."""
        return self._transport.delete(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}",
            query_params(reason=reason),
        )

    def compare(self, model: Reference, base: Reference, other: Reference) -> models.ModelComparison:
        """Compare two versions of a model: metrics, hyperparameters, data, code, signature and files."""
        return self._transport.get(
            models.ModelComparison,
            f"/v1/models/{segment(model)}/compare",
            query_params(base=text(base), other=text(other)),
        )

    def set_stage(
        self, model: Reference, version: Reference, stage: str, reason: str = ""
    ) -> models.ModelVersion:
        """Move a version to a stage, or request the approvals that this requires.

        Args:
            stage: One of none, candidate, staging, production or archived.
        """
        return self._transport.post(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}/stage",
            json_body(stage=stage, reason=reason),
        )

    def approve(self, model: Reference, version: Reference, reason: str = "") -> models.ModelVersion:
        """Approve the pending stage change. The requester cannot approve it."""
        return self._transport.post(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}/stage/approve",
            json_body(reason=reason),
        )

    def reject(self, model: Reference, version: Reference, reason: str = "") -> models.ModelVersion:
        """Reject the pending stage change. The version stays in its stage."""
        return self._transport.post(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}/stage/reject",
            json_body(reason=reason),
        )

    def record_use(
        self,
        model: Reference,
        version: Reference,
        kind: str,
        reference: str,
        metadata: JsonObject | None = None,
    ) -> models.ModelVersion:
        """Record a use of a version, such as batch inference, in its lineage.

        Args:
            kind: Kind of use, such as inference or evaluation.
            reference: Id of the consumer in its own system.
        """
        return self._transport.post(
            models.ModelVersion,
            f"/v1/models/{segment(model)}/versions/{segment(version)}/uses",
            json_body(kind=kind, reference=reference, metadata=metadata),
        )

    def lineage(self, kind: str, reference: Reference) -> models.LineageGraph:
        """Show everything that an entity was derived from, and everything derived from it.

        Args:
            kind: One of dataset, code, experiment, trial, checkpoint, version or consumer.
        """
        return self._transport.get(
            models.LineageGraph, "/v1/lineage", query_params(kind=kind, id=text(reference))
        )


class AsyncModels(AsyncAPIResource[Models]):
    """`Models`, awaited."""

    download = awaited(Models.download)
    create = awaited(Models.create)
    list = listed(Models.list)
    get = awaited(Models.get)
    edit = awaited(Models.edit)
    delete = awaited(Models.delete)
    set_alias = awaited(Models.set_alias)
    delete_alias = awaited(Models.delete_alias)
    register = awaited(Models.register)
    versions = listed(Models.versions)
    version = awaited(Models.version)
    edit_version = awaited(Models.edit_version)
    delete_version = awaited(Models.delete_version)
    compare = awaited(Models.compare)
    set_stage = awaited(Models.set_stage)
    approve = awaited(Models.approve)
    reject = awaited(Models.reject)
    record_use = awaited(Models.record_use)
    lineage = awaited(Models.lineage)
