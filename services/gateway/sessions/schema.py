"""Signing in: sessions of people, their passwords, and who of a provider they are."""

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
    """A user's name and password."""

    tenant: AccountName = "default"
    user: AccountName
    password: Password


class TokenSignInRequest(Request):
    """A token, in whose place a session counts: a browser keeps no token."""

    token: Password


class SignInLink(Resource):
    """A link that signs a browser in once, shown this one time."""

    id: UUID
    path: str = Field(
        description="Open it at the platform's address. It holds the code behind a `#`, which a browser sends to no server."
    )
    secret: str = Field(description="The code that the page trades for a session.")
    expires_at: datetime


class LinkSignInRequest(Request):
    """The code of a link that signs in once."""

    code: Password


class SignInProvider(Resource):
    """A provider that the site shows to everybody."""

    name: str = Field(description="For `GET /v1/sign-in`.")
    label: str


class SignInWays(Resource):
    """The ways to sign in that a site tells strangers of. A provider without a label is known to those who were told its name."""

    passwords: bool = Field(description="False where the site takes none.")
    providers: list[SignInProvider]


class BeginSignInRequest(Request):
    """A sign-in with a provider of one's tenant."""

    provider: ProviderName
    redirect: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="Where the browser is sent back to: an address that the site allows, or `http://127.0.0.1:PORT/signed-in`.",
        ),
    ]


class BegunSignIn(Resource):
    """Where the browser goes, and what is kept from it: who began finishes with the ticket, and nobody else can."""

    url: str
    ticket: str = Field(description="Kept by who began, and shown to nobody.")
    state: str = Field(description="What the browser must bring back: check it before anything is sent on.")
    expires_at: datetime


class FinishSignInRequest(Request):
    """The ticket, and what the browser brought back."""

    ticket: Annotated[str, Field(min_length=1, max_length=2000)]
    state: Annotated[str, Field(min_length=1, max_length=200)]
    code: Annotated[str, Field(min_length=1, max_length=4000)]
    iss: Annotated[
        str | None, Field(max_length=500, description="The issuer that the provider names, if it does.")
    ] = None


class Session(Resource):
    """A sign-in of a person, without its secret."""

    id: UUID
    via: str = Field(description="`password`, `token`, `link`, or the provider's name.")
    address: str = Field(description="From where.")
    created_at: datetime
    used_at: datetime = Field(description="To the minute.")
    expires_at: datetime = Field(description="Sooner, when it is not used.")
    current: bool = Field(default=False, description="It is the session that asks.")


class CreatedSession(Session):
    """A session with its secret, which is shown this one time and sent as `Authorization: Bearer mss_…`."""

    secret: str = Field(description="Empty where a browser has it in a cookie.")
    user: str
    tenant: str


SESSIONS = Listing.of(
    Session, *("via", "address", "created_at", "used_at", "expires_at", "current"), usual="-id"
)
"""Ids rise with time."""


class SessionPage(Resource):
    """A page of sessions that count, newest first."""

    items: list[Session]
    next_cursor: str | None = None


class ListSessionsRequest(ListRequest):
    """The caller's sessions."""

    listing = SESSIONS


class SessionRequest(Request):
    """One session of the caller's by its id; `current` is the one that asks."""

    session: Reference


class ListUserSessionsRequest(ListRequest):
    """The sessions of a user."""

    listing = SESSIONS

    user: Reference


class SessionsEnded(Resource):
    """How many sessions were ended."""

    ended: int


class ChangePasswordRequest(Request):
    """The caller's password, in place of the one before."""

    old_password: Password
    new_password: Password


class SetPasswordRequest(Request):
    """A password for somebody; that person's sessions end."""

    user: Reference
    password: Password


class Identity(Resource):
    """Who of a provider a user is."""

    id: UUID
    issuer: str
    subject: str
    created_at: datetime


class IdentityList(Resource):
    """All that a user is known by, oldest first."""

    items: list[Identity]
    next_cursor: str | None = None


class LinkIdentityRequest(Request):
    """From now on a provider's subject is this user."""

    user: Reference
    provider: ProviderName
    subject: Subject


class IdentityRequest(Request):
    """One identity of a user, by its id."""

    user: Reference
    identity: Reference
