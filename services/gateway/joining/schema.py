"""API schema of join tokens and of workers that join a pool."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource


class Isolation(StrEnum):
    """The isolation of runs on a worker: a sandbox for each run, one system user for all of them, or none."""

    SANDBOX = "sandbox"
    USER = "user"
    NONE = "none"


class IssueJoinTokenRequest(Request):
    """A one-time token that lets one machine join a pool."""

    pool: Annotated[str, Field(min_length=1, max_length=100)] = "default"
    worker: Annotated[str | None, Field(min_length=1, max_length=100)] = None
    ttl_s: Annotated[int, Field(ge=60, le=86_400)] = 3600


class JoinToken(Resource):
    """A join token. It is shown only once."""

    token: str
    pool: str
    expires_at: datetime


class JoinWorkerRequest(Request):
    """A machine that joins a pool. It authenticates with a join token as bearer token, or with an identity document signed by its cloud provider."""

    worker: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9_-]+$")]
    user_key: Annotated[
        str,
        Field(min_length=10, max_length=100, description="The public NATS user key."),
    ]
    pool: Annotated[str, Field(min_length=1, max_length=100)] = "default"
    address: Annotated[str, Field(min_length=1, max_length=253)]
    version: Annotated[str | None, Field(max_length=50, description="Version of Muster on the machine.")] = (
        None
    )
    trouble: Annotated[
        str | None,
        Field(
            max_length=500,
            description="Why the machine cannot serve as a worker. The provisioner is notified, and the request is refused.",
        ),
    ] = None
    isolation: Annotated[
        Isolation,
        Field(
            description="Isolation of runs on the machine. A pool that is not trusted uses only machines with sandboxes."
        ),
    ] = Isolation.NONE
    isolation_detail: Annotated[str, Field(max_length=200, description="Limits of the isolation.")] = ""
    identity_document: Annotated[
        str | None,
        Field(
            max_length=8192,
            description="Identity document from the cloud's metadata service: AWS's instance identity document, or Google's identity token.",
        ),
    ] = None
    identity_signature: Annotated[
        str | None,
        Field(
            max_length=2048,
            description="AWS's signature of the document, in base64. Google's token contains its signature.",
        ),
    ] = None


class WorkerCredentials(Resource):
    """Credentials of a worker. It connects to NATS with this JWT and its own private key."""

    worker: str
    jwt: str
    nats_url: str
    expires_at: datetime
    warning: str | None = Field(default=None, description="Why the pool will not use the worker.")
