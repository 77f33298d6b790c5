"""Groups of users that share roles.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Groups(APIResource):
    """Groups of users that share roles."""

    def create(self, name: str, *, description: str = "") -> models.Group:
        """Create a group without members."""
        return self._transport.post(models.Group, "/v1/groups", json_body(name=name, description=description))

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Group]:
        """List the tenant's groups, by name unless `sort` is set.

        Args:
            filter: An expression over `name`, `description`, `members`, `created_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(self._transport, models.GroupPage, "/v1/groups", query_params(filter=filter, sort=sort))

    def get(self, group: Reference) -> models.Group:
        """Get one group. `ListUsers` lists its members."""
        return self._transport.get(models.Group, f"/v1/groups/{segment(group)}")

    def delete(self, group: Reference) -> None:
        """Delete a group and its role bindings. Its members keep their accounts."""
        self._transport.delete(models.Done, f"/v1/groups/{segment(group)}")

    def add(self, group: Reference, user: Reference) -> models.User:
        """Add a user to a group. The user gets the group's roles."""
        return self._transport.put(models.User, f"/v1/groups/{segment(group)}/members/{segment(user)}")

    def remove(self, group: Reference, user: Reference) -> models.User:
        """Remove a user from a group."""
        return self._transport.delete(models.User, f"/v1/groups/{segment(group)}/members/{segment(user)}")


class AsyncGroups(AsyncAPIResource[Groups]):
    """`Groups`, awaited."""

    create = awaited(Groups.create)
    list = listed(Groups.list)
    get = awaited(Groups.get)
    delete = awaited(Groups.delete)
    add = awaited(Groups.add)
    remove = awaited(Groups.remove)
