"""People and service accounts of one's tenant, and their tokens.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Users(APIResource):
    """People and service accounts of one's tenant, and their tokens."""

    def tokens(self, *, filter: str = "", sort: str = "") -> Items[models.Token]:
        """Lists the tenant's access tokens, newest first or as they are sorted, without their secrets.

        Args:
            filter: An expression over `name`, `role`, `user`, `created_at`, `expires_at`, `revoked_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(self._transport, models.TokenPage, "/v1/tokens", query_params(filter=filter, sort=sort))

    def revoke_token(self, token: Reference) -> models.Token:
        """Ends an access token; every replica refuses it within seconds."""
        return self._transport.delete(models.Token, f"/v1/tokens/{segment(token)}")

    def set_password(self, user: Reference, password: str) -> None:
        """Gives a person a password, and ends that person's sessions."""
        self._transport.put(models.Done, f"/v1/users/{segment(user)}/password", json_body(password=password))

    def link(self, user: Reference, provider: str, subject: str) -> models.Identity:
        """Lets a user sign in, or a program call, as this subject of a provider of the tenant."""
        return self._transport.post(
            models.Identity,
            f"/v1/users/{segment(user)}/identities",
            json_body(provider=provider, subject=subject),
        )

    def identities(self, user: Reference) -> Sequence[models.Identity]:
        """Lists what a user is known by at providers."""
        return self._transport.get(models.IdentityList, f"/v1/users/{segment(user)}/identities").items

    def unlink(self, user: Reference, identity: Reference) -> models.Identity:
        """Takes from a user what it is known by at a provider, and ends its sessions."""
        return self._transport.delete(
            models.Identity, f"/v1/users/{segment(user)}/identities/{segment(identity)}"
        )

    def create(self, name: str, *, kind: str = models.UserKind.PERSON, display_name: str = "") -> models.User:
        """Adds a person or a program to the tenant; it may do nothing until it is given a role.

        Args:
            kind: One of person or service_account.
        """
        return self._transport.post(
            models.User, "/v1/users", json_body(name=name, kind=kind, display_name=display_name)
        )

    def list(self, group: Reference | None = None, *, filter: str = "", sort: str = "") -> Items[models.User]:
        """Lists the tenant's people and programs by name, or as they are sorted.

        Args:
            filter: An expression over `name`, `kind`, `display_name`, `groups`, `created_at`, `disabled_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.UserPage,
            "/v1/users",
            query_params(group=text(group), filter=filter, sort=sort),
        )

    def get(self, user: Reference) -> models.User:
        """Shows one user."""
        return self._transport.get(models.User, f"/v1/users/{segment(user)}")

    def edit(
        self, user: Reference, *, display_name: str | None = None, disabled: bool | None = None
    ) -> models.User:
        """Changes a user's shown name, or ends and reopens all it may do.

        Args:
            disabled: True: no token of the user counts any more.
        """
        return self._transport.patch(
            models.User, f"/v1/users/{segment(user)}", json_body(display_name=display_name, disabled=disabled)
        )

    def create_token(
        self, user: Reference, name: str, *, scope: Sequence[str] = (), ttl_s: int = 2592000
    ) -> models.CreatedToken:
        """Makes a token for a user and shows its secret, this one time; it does what the user's roles let it, narrowed to its scope.

        Args:
            scope: Only these permissions of the user's; none named: all it ever has.
        """
        return self._transport.post(
            models.CreatedToken,
            f"/v1/users/{segment(user)}/tokens",
            json_body(name=name, scope=scope, ttl_s=ttl_s),
        )


class AsyncUsers(AsyncAPIResource[Users]):
    """`Users`, awaited."""

    tokens = listed(Users.tokens)
    revoke_token = awaited(Users.revoke_token)
    set_password = awaited(Users.set_password)
    link = awaited(Users.link)
    identities = awaited(Users.identities)
    unlink = awaited(Users.unlink)
    create = awaited(Users.create)
    list = listed(Users.list)
    get = awaited(Users.get)
    edit = awaited(Users.edit)
    create_token = awaited(Users.create_token)
