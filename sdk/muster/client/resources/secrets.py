"""Secrets of workspaces, which runs get as environment variables or files. Values can be set, but not read.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import json_body
from muster.client.http.transport import Reference, segment


class Secrets(APIResource):
    """Secrets of workspaces, which runs get as environment variables or files. Values can be set, but not read."""

    def list(self, workspace: Reference) -> Sequence[models.Secret]:
        """List the secrets of a workspace, without their values."""
        return self._transport.get(models.Secrets, f"/v1/workspaces/{segment(workspace)}/secrets").items

    def set(self, workspace: Reference, secret: Reference, secret_value: str) -> models.Secret:
        """Create a secret or replace its value. Runs that start afterwards get the new value; no response contains it.

        Args:
            secret_value: The value, as text of 8 characters to 64 KiB. No response contains it.
        """
        return self._transport.put(
            models.Secret,
            f"/v1/workspaces/{segment(workspace)}/secrets/{segment(secret)}",
            json_body(secret_value=secret_value),
        )

    def delete(self, workspace: Reference, secret: Reference) -> None:
        """Delete a secret. Runs that reference it and start afterwards fail; running ones keep their value."""
        self._transport.delete(models.Done, f"/v1/workspaces/{segment(workspace)}/secrets/{segment(secret)}")


class AsyncSecrets(AsyncAPIResource[Secrets]):
    """`Secrets`, awaited."""

    list = awaited(Secrets.list)
    set = awaited(Secrets.set)
    delete = awaited(Secrets.delete)
