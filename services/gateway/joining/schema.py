"""Join tokens, and what a machine sends and gets when it joins a pool."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource


class IssueJoinTokenRequest(Request):
    """A one-time token with which one machine joins a pool."""

    pool: Annotated[str, Field(min_length=1, max_length=100)] = "default"
    worker: Annotated[str | None, Field(min_length=1, max_length=100)] = None
    ttl_s: Annotated[int, Field(ge=60, le=86_400)] = 3600


class JoinToken(Resource):
    """A join token, shown this one time."""

    token: str
    pool: str
    expires_at: datetime


class JoinWorkerRequest(Request):
    """What a machine says to join. It is authenticated by the join token alone, sent as the bearer token, or where it was rented from a provider that
    vouches for its machines by that."""

    worker: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9_-]+$")]
    user_key: Annotated[
        str,
        Field(min_length=10, max_length=100, description="The public NATS user key."),
    ]
    pool: Annotated[str, Field(min_length=1, max_length=100)] = "default"
    address: Annotated[str, Field(min_length=1, max_length=253)]
    version: Annotated[
        str | None, Field(max_length=50, description="Of the platform's package on the machine.")
    ] = None
    trouble: Annotated[
        str | None,
        Field(
            max_length=500,
            description="Why the machine cannot serve: who rents it is told, and it is refused.",
        ),
    ] = None
    identity_document: Annotated[
        str | None,
        Field(
            max_length=8192,
            description="What the machine's cloud says of it, as it is served there: AWS's document, or Google's identity token.",
        ),
    ] = None
    identity_signature: Annotated[
        str | None,
        Field(
            max_length=2048,
            description="AWS's signature of its document, in base64; Google's token bears its own.",
        ),
    ] = None


class WorkerCredentials(Resource):
    """A worker's identity: it connects to NATS with this JWT and its own private key."""

    worker: str
    jwt: str
    nats_url: str
    expires_at: datetime
