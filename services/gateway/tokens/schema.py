"""Requests and responses for the caller's identity and for access tokens."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Name, Reference, Request, Resource
from shared.filters.fields import Listing


class Role(StrEnum):
    """Roles of tokens without a user. Users can have any role, also custom ones (`RoleDefinition`)."""

    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"
    OPERATOR = "operator"


OF_A_USER = "viewer"
"""Value of the field `role` for tokens of users. The user's roles apply to such a token; the field remains for older clients."""


class HeldRole(Resource):
    """A role of the caller, and the scope that it applies to."""

    role: str
    workspace: str | None = Field(default=None, description="Null: the role applies to the whole tenant.")
    project: str | None = Field(default=None, description="Null: the role applies to the whole workspace.")


class Me(Resource):
    """The caller's identity, roles and permissions."""

    tenant: UUID
    tenant_name: str
    token: UUID
    name: str
    role: Role = Field(
        description="The widest of the four basic roles whose permissions the caller holds on the whole tenant, or `viewer`. See `roles` for the actual roles."
    )
    permissions: list[str] = Field(description="Permissions that the caller holds in at least one scope.")
    expires_at: datetime | None = None
    roles: list[HeldRole] = []


class Token(Resource):
    """An access token without its secret."""

    id: UUID
    name: str
    role: Role = Field(
        description="Role of a token without a user. Always `viewer` for a user's token, which has that user's roles instead."
    )
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user: str | None = Field(
        default=None, description="User that the token belongs to. Null: the token has its own role."
    )
    scope: list[str] = Field(
        default=[], description="Limits the token to these permissions of its user. Empty: no limit."
    )


class TokenPage(Resource):
    """A page of tokens, newest first."""

    items: list[Token]
    next_cursor: str | None = None


class CreateTokenRequest(Request):
    """A new token of the caller's tenant. It cannot have permissions that the caller does not hold."""

    name: Name
    role: Role
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86400)] = 30 * 86400


class CreatedToken(Token):
    """A token with its secret. Only this response contains the secret."""

    secret: str


class ListTokensRequest(ListRequest):
    """The tokens of the caller's tenant."""

    listing = Listing.of(
        Token,
        *("name", "role", "user", "created_at", "expires_at", "revoked_at"),
        usual="-id",
    )


class TokenRequest(Request):
    """One token by its id."""

    token: Reference
