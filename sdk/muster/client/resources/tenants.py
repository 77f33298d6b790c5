"""The tenants of a site, for who keeps it.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Tenants(APIResource):
    """The tenants of a site, for who keeps it."""

    def delete(self, tenant: Reference) -> models.Deletion:
        """Deletes everything that a tenant has, but for its audit log. From now on nobody comes in as one of it."""
        return self._transport.delete(models.Deletion, f"/v1/tenants/{segment(tenant)}")

    def create(self, name: str, *, ttl_s: int = 604800) -> models.CreatedTenant:
        """Makes a tenant with one admin, and shows that admin's token, this one time."""
        return self._transport.post(models.CreatedTenant, "/v1/tenants", json_body(name=name, ttl_s=ttl_s))

    def recover(self, tenant: Reference, *, ttl_s: int = 86400) -> models.CreatedTenant:
        """Lets a tenant in again whose admins have all lost their access: its first account counts, is admin, and has a token, shown this one time."""
        return self._transport.post(
            models.CreatedTenant, f"/v1/tenants/{segment(tenant)}/recover", json_body(ttl_s=ttl_s)
        )

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Tenant]:
        """Lists the tenants of the site by name, or as they are sorted.

        Args:
            filter: An expression over `name`, `created_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport, models.TenantPage, "/v1/tenants", query_params(filter=filter, sort=sort)
        )


class AsyncTenants(AsyncAPIResource[Tenants]):
    """`Tenants`, awaited."""

    delete = awaited(Tenants.delete)
    create = awaited(Tenants.create)
    recover = awaited(Tenants.recover)
    list = listed(Tenants.list)
