"""Users and service accounts of your tenant, and their tokens.

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
    """Users and service accounts of your tenant, and their tokens."""

    def tokens(self, *, filter: str = "", sort: str = "") -> Items[models.Token]:
        """List the tenant's access tokens without their secrets, newest first unless `sort` is set.

        Args:
            filter: An expression over `name`, `role`, `user`, `created_at`, `expires_at`, `revoked_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(self._transport, models.TokenPage, "/v1/tokens", query_params(filter=filter, sort=sort))

    def revoke_token(self, token: Reference) -> models.Token:
        """Revoke an access token. Every replica rejects it within seconds."""
        return self._transport.delete(models.Token, f"/v1/tokens/{segment(token)}")

    def set_password(self, user: Reference, password: str) -> None:
        """Set a person's password and end that person's sessions."""
        self._transport.put(models.Done, f"/v1/users/{segment(user)}/password", json_body(password=password))

    def link(self, user: Reference, provider: str, subject: str) -> models.Identity:
        """Link a subject of one of the tenant's providers to a user. The subject can then sign in or call the API as that user."""
        return self._transport.post(
            models.Identity,
            f"/v1/users/{segment(user)}/identities",
            json_body(provider=provider, subject=subject),
        )

    def identities(self, user: Reference) -> Sequence[models.Identity]:
        """List the identities that are linked to a user."""
        return self._transport.get(models.IdentityList, f"/v1/users/{segment(user)}/identities").items

    def unlink(self, user: Reference, identity: Reference) -> models.Identity:
        """Unlink an identity from a user and end the user's sessions."""
        return self._transport.delete(
            models.Identity, f"/v1/users/{segment(user)}/identities/{segment(identity)}"
        )

    def create(self, name: str, *, kind: str = models.UserKind.PERSON, display_name: str = "") -> models.User:
        """Create a user: a person or a service account. It has no permissions until a role is granted to it.

        Args:
            kind: One of person or service_account.
        """
        return self._transport.post(
            models.User, "/v1/users", json_body(name=name, kind=kind, display_name=display_name)
        )

    def list(self, group: Reference | None = None, *, filter: str = "", sort: str = "") -> Items[models.User]:
        """List the tenant's users, by name unless `sort` is set.

        Args:
            filter: An expression over `name`, `kind`, `display_name`, `groups`, `created_at`, `disabled_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.UserPage,
            "/v1/users",
            query_params(group=text(group), filter=filter, sort=sort),
        )

    def get(self, user: Reference) -> models.User:
        """Get one user."""
        return self._transport.get(models.User, f"/v1/users/{segment(user)}")

    def edit(
        self, user: Reference, *, display_name: str | None = None, disabled: bool | None = None
    ) -> models.User:
        """Change a user's display name, or disable or enable the user.

        Args:
            disabled: True: end the user's sessions and reject its tokens. False: enable the user again.
        """
        return self._transport.patch(
            models.User, f"/v1/users/{segment(user)}", json_body(display_name=display_name, disabled=disabled)
        )

    def create_token(
        self, user: Reference, name: str, *, scope: Sequence[str] = (), ttl_s: int = 2592000
    ) -> models.CreatedToken:
        """Create a token for a user. Only this response contains the secret. The token has the permissions of the user's roles, limited to its scope.

        Args:
            scope: Limits the token to these permissions. Empty: all permissions that the user has, now and later.
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
