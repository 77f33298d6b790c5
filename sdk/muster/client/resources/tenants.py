"""Tenants of a site; needs site administrator rights.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Tenants(APIResource):
    """Tenants of a site; needs site administrator rights."""

    def delete(self, tenant: Reference) -> models.Deletion:
        """Delete everything that a tenant has, except its audit log. Its users and tokens lose access."""
        return self._transport.delete(models.Deletion, f"/v1/tenants/{segment(tenant)}")

    def create(self, name: str, *, ttl_s: int = 604800) -> models.CreatedTenant:
        """Create a tenant with one admin account and return that account's token, only in this response."""
        return self._transport.post(models.CreatedTenant, "/v1/tenants", json_body(name=name, ttl_s=ttl_s))

    def recover(self, tenant: Reference, *, ttl_s: int = 86400) -> models.CreatedTenant:
        """Restore access to a tenant whose admins have all lost theirs. Enables its first account, makes it an admin and returns a token for it, only in this response."""
        return self._transport.post(
            models.CreatedTenant, f"/v1/tenants/{segment(tenant)}/recover", json_body(ttl_s=ttl_s)
        )

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Tenant]:
        """List the tenants of the site, by name unless `sort` is set.

        Args:
            filter: An expression over `name`, `created_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
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
