"""Requests and responses for sign-in, sessions, passwords and linked identities."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from services.gateway.users.schema import AccountName
from shared.filters.fields import Listing

Password = Annotated[str, Field(min_length=1, max_length=512)]
ProviderName = Annotated[str, Field(min_length=1, max_length=63)]
Subject = Annotated[str, Field(min_length=1, max_length=255)]


class SignInRequest(Request):
    """A user's name and password, to sign in with."""

    tenant: AccountName = "default"
    user: AccountName
    password: Password


class TokenSignInRequest(Request):
    """An access token to exchange for a session, so that a browser does not store the token."""

    token: Password


class SignInLink(Resource):
    """A single-use sign-in link. Only this response contains its code."""

    id: UUID
    path: str = Field(
        description="Path to open at the platform's address. The code follows a `#`, so browsers do not send it to any server."
    )
    secret: str = Field(description="The code that the page exchanges for a session.")
    expires_at: datetime


class LinkSignInRequest(Request):
    """The code of a single-use sign-in link."""

    code: Password


class SignInProvider(Resource):
    """An OpenID Connect provider that the sign-in page shows."""

    name: str = Field(description="Value of `provider` in `GET /v1/sign-in`.")
    label: str


class SignInWays(Resource):
    """The ways to sign in that unauthenticated clients can see. Providers without a label are not listed; users must know their names."""

    passwords: bool = Field(description="True if the site accepts passwords.")
    providers: list[SignInProvider]


class BeginSignInRequest(Request):
    """A sign-in with an OpenID Connect provider of the user's tenant."""

    provider: ProviderName
    redirect: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="Address that the provider redirects the browser to: one that the site allows, or `http://127.0.0.1:PORT/signed-in`.",
        ),
    ]


class StartedSignIn(Resource):
    """A started sign-in: the provider's page for the browser, and the ticket that finishes the sign-in."""

    url: str
    ticket: str = Field(description="Secret of the client that started the sign-in. `FinishSignIn` needs it.")
    state: str = Field(
        description="Value that the redirect must contain. Check it before you send the code to `FinishSignIn`."
    )
    expires_at: datetime


class FinishSignInRequest(Request):
    """The ticket, and the parameters of the redirect."""

    ticket: Annotated[str, Field(min_length=1, max_length=2000)]
    state: Annotated[str, Field(min_length=1, max_length=200)]
    code: Annotated[str, Field(min_length=1, max_length=4000)]
    iss: Annotated[
        str | None, Field(max_length=500, description="The `iss` parameter of the redirect, if it has one.")
    ] = None


class Session(Resource):
    """A session of a user, without its secret."""

    id: UUID
    via: str = Field(description="`password`, `token`, `link`, or the name of the provider.")
    address: str = Field(description="IP address of the sign-in.")
    created_at: datetime
    used_at: datetime = Field(description="Time of the last use, to the minute.")
    expires_at: datetime = Field(description="Latest end of the session. An unused session ends earlier.")
    current: bool = Field(default=False, description="True if this request uses the session.")


class CreatedSession(Session):
    """A session with its secret. Only this response contains the secret; send it as `Authorization: Bearer mss_…`."""

    secret: str = Field(description="Empty if the browser gets the secret in a cookie.")
    user: str
    tenant: str


SESSIONS = Listing.of(
    Session, *("via", "address", "created_at", "used_at", "expires_at", "current"), default_order="-id"
)
"""The usual order is newest first: ids increase with time."""


class SessionPage(Resource):
    """A page of active sessions, newest first."""

    items: list[Session]
    next_cursor: str | None = None


class ListSessionsRequest(ListRequest):
    """The caller's sessions."""

    listing = SESSIONS


class SessionRequest(Request):
    """One of the caller's sessions by its id. `current` is the session that sends the request."""

    session: Reference


class ListUserSessionsRequest(ListRequest):
    """The sessions of a user."""

    listing = SESSIONS

    user: Reference


class SessionsEnded(Resource):
    """Result of ending a user's sessions."""

    ended: int = Field(description="Number of sessions that were ended.")


class ChangePasswordRequest(Request):
    """The caller's old and new password."""

    old_password: Password
    new_password: Password


class SetPasswordRequest(Request):
    """A new password for a user. The user's sessions end."""

    user: Reference
    password: Password


class Identity(Resource):
    """A link between a user and a subject of a provider."""

    id: UUID
    issuer: str
    subject: str
    created_at: datetime


class IdentityList(Resource):
    """The linked identities of a user, oldest first."""

    items: list[Identity]
    next_cursor: str | None = None


class LinkIdentityRequest(Request):
    """A subject of a provider to link to a user."""

    user: Reference
    provider: ProviderName
    subject: Subject


class IdentityRequest(Request):
    """One linked identity of a user, by its id."""

    user: Reference
    identity: Reference
