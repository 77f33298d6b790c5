"""Callers and their tokens."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Name, Reference, Request, Resource
from shared.filters.fields import Listing


class Role(StrEnum):
    """The roles that a token without a user can have; there are more for users, by name (`RoleDefinition`)."""

    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"
    OPERATOR = "operator"


OF_A_USER = "viewer"
"""What the released field `role` says of a token whose user's roles count."""


class HeldRole(Resource):
    """A role that the caller has, and where it counts."""

    role: str
    workspace: str | None = Field(default=None, description="None: on the tenant as a whole.")
    project: str | None = Field(default=None, description="None: on the workspace as a whole.")


class Me(Resource):
    """Who the caller is and what the caller may do."""

    tenant: UUID
    tenant_name: str
    token: UUID
    name: str
    role: Role = Field(
        description="The widest of these roles that the caller has on the tenant, or viewer; `roles` says more."
    )
    permissions: list[str] = Field(description="What the caller may do somewhere.")
    expires_at: datetime | None = None
    roles: list[HeldRole] = []


class Token(Resource):
    """An access token without its secret."""

    id: UUID
    name: str
    role: Role = Field(
        description="What it may do; of a user's token it says nothing (`viewer`), that user's roles do."
    )
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    user: str | None = Field(default=None, description="Whose it is; none: it has its role itself.")
    scope: list[str] = Field(default=[], description="It is narrowed to these permissions of its user's.")


class TokenPage(Resource):
    """A page of tokens, newest first."""

    items: list[Token]
    next_cursor: str | None = None


class CreateTokenRequest(Request):
    """A new token of the caller's tenant; never with more rights than the caller's."""

    name: Name
    role: Role
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86400)] = 30 * 86400


class CreatedToken(Token):
    """A token with its secret, which is shown this one time."""

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
