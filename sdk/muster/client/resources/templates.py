"""Templates: named partial configs that configs are merged into.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject


class Templates(APIResource):
    """Templates: named partial configs that configs are merged into."""

    def create(
        self, name: str, config: JsonObject, *, workspace: Reference | None = None, description: str = ""
    ) -> models.Template:
        """Create a template: a partial config with a name that is unique in the tenant.

        Args:
            workspace: None: the whole tenant.
        """
        return self._transport.post(
            models.Template,
            "/v1/templates",
            json_body(name=name, config=config, workspace=text(workspace), description=description),
        )

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Template]:
        """List the templates of the tenant and of the workspaces that the caller may read, by name unless `sort` is set.

        Args:
            filter: An expression over `name`, `workspace`, `description`, `changed_at`, `by`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport, models.TemplatePage, "/v1/templates", query_params(filter=filter, sort=sort)
        )

    def get(self, template: Reference) -> models.Template:
        """Get one template."""
        return self._transport.get(models.Template, f"/v1/templates/{segment(template)}")

    def edit(
        self, template: Reference, config: JsonObject | None = None, *, description: str | None = None
    ) -> models.Template:
        """Change a template. The change applies to later submissions."""
        return self._transport.patch(
            models.Template,
            f"/v1/templates/{segment(template)}",
            json_body(config=config, description=description),
        )

    def delete(self, template: Reference) -> None:
        """Delete a template. Experiments created from it do not change."""
        self._transport.delete(models.Done, f"/v1/templates/{segment(template)}")


class AsyncTemplates(AsyncAPIResource[Templates]):
    """`Templates`, awaited."""

    create = awaited(Templates.create)
    list = listed(Templates.list)
    get = awaited(Templates.get)
    edit = awaited(Templates.edit)
    delete = awaited(Templates.delete)
