"""Requests and responses for users (people and service accounts) and groups."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Name, Reference, Request, Resource
from shared.filters.fields import Listing

AccountName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]*$")]
Description = Annotated[str, Field(max_length=1000)]


class UserKind(StrEnum):
    """A person, or a service account: an account for a program."""

    PERSON = "person"
    SERVICE_ACCOUNT = "service_account"


class User(Resource):
    """A person or a service account of the tenant."""

    id: UUID
    name: str
    kind: UserKind
    display_name: str
    groups: list[str] = Field(description="Names of the groups that the user belongs to.")
    created_at: datetime
    disabled_at: datetime | None = Field(
        default=None,
        description="When the user was disabled; its tokens and sessions are rejected. Null: enabled.",
    )


class UserPage(Resource):
    """A page of users by name."""

    items: list[User]
    next_cursor: str | None = None


class CreateUserRequest(Request):
    """A new person or service account. It has no permissions until a role is granted to it."""

    name: AccountName
    kind: UserKind = UserKind.PERSON
    display_name: Description = ""


class ListUsersRequest(ListRequest):
    """The users of the tenant, or of one group."""

    listing = Listing.of(
        User,
        *("name", "kind", "display_name", "groups", "created_at", "disabled_at"),
        usual="name",
    )

    group: Reference | None = None


class UserRequest(Request):
    """One user by name or id."""

    user: Reference


class EditUserRequest(UserRequest):
    """Changes to a user. Omitted fields keep their values."""

    display_name: Description | None = None
    disabled: bool | None = Field(
        default=None,
        description="True: end the user's sessions and reject its tokens. False: enable the user again.",
    )


class CreateUserTokenRequest(UserRequest):
    """A new token that acts with the user's roles."""

    name: Name
    scope: Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=64)] = Field(
        default=[],
        description="Limits the token to these permissions. Empty: all permissions that the user has, now and later.",
    )
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86400)] = 30 * 86400


class Group(Resource):
    """A group of users; a role granted to the group applies to every member."""

    id: UUID
    name: str
    description: str
    members: int
    created_at: datetime


class GroupPage(Resource):
    """A page of groups by name."""

    items: list[Group]
    next_cursor: str | None = None


class CreateGroupRequest(Request):
    """A new group without members."""

    name: AccountName
    description: Description = ""


class ListGroupsRequest(ListRequest):
    """The groups of the tenant."""

    listing = Listing.of(Group, *("name", "description", "members", "created_at"), usual="name")


class GroupRequest(Request):
    """One group by name or id."""

    group: Reference


class GroupMemberRequest(GroupRequest):
    """A group and a user, each by name or id."""

    user: Reference
