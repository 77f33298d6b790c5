"""Parts of configs under a name, over which a config is laid.

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
    """Parts of configs under a name, over which a config is laid."""

    def create(
        self, name: str, config: JsonObject, *, workspace: Reference | None = None, description: str = ""
    ) -> models.Template:
        """Keeps a part of a config under a name that is new in the tenant.

        Args:
            workspace: None: for the whole tenant.
        """
        return self._transport.post(
            models.Template,
            "/v1/templates",
            json_body(name=name, config=config, workspace=text(workspace), description=description),
        )

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Template]:
        """Lists the templates of the tenant, and of those of its workspaces that the caller sees, by name or as they are sorted.

        Args:
            filter: An expression over `name`, `workspace`, `description`, `changed_at`, `by`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport, models.TemplatePage, "/v1/templates", query_params(filter=filter, sort=sort)
        )

    def get(self, template: Reference) -> models.Template:
        """Shows one template."""
        return self._transport.get(models.Template, f"/v1/templates/{segment(template)}")

    def edit(
        self, template: Reference, config: JsonObject | None = None, *, description: str | None = None
    ) -> models.Template:
        """Changes a template for what is submitted from now on."""
        return self._transport.patch(
            models.Template,
            f"/v1/templates/{segment(template)}",
            json_body(config=config, description=description),
        )

    def delete(self, template: Reference) -> None:
        """Takes a template away; experiments that were made from it stay as they are."""
        self._transport.delete(models.Done, f"/v1/templates/{segment(template)}")


class AsyncTemplates(AsyncAPIResource[Templates]):
    """`Templates`, awaited."""

    create = awaited(Templates.create)
    list = listed(Templates.list)
    get = awaited(Templates.get)
    edit = awaited(Templates.edit)
    delete = awaited(Templates.delete)
