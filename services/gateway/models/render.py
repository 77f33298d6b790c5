"""Convert the registry's announcements of models to API resources."""

from services.gateway.models import schema as models
from services.gateway.platform.references import Row
from shared.messages.models import ModelChanged


def render_model(row: Row) -> models.Model:
    changed = ModelChanged.model_validate(row.last_event)
    shared = {"name", "workspace", "description", "notes", "tags", "metadata", "approvals", "versions"}
    return models.Model.model_validate(
        changed.model_dump(include=shared | {"aliases", "created_at", "changed_by", "version"})
        | {"id": changed.model_id, "owner": changed.by}
    )
