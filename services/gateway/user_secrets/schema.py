"""Requests and responses for user secrets. No response contains a value."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from muster.config.containers import SecretName
from services.gateway.platform.schema import Request, Resource
from services.gateway.roles.schema import PlaceName

MIN_VALUE_CHARS = 8
"""Shorter values occur in ordinary output, so masking them would hide the log."""
MAX_VALUE_BYTES = 64 * 1024


class Secret(Resource):
    """A secret of a workspace, without its value, which cannot be read back."""

    name: str
    workspace: str
    created_at: datetime
    changed_at: datetime = Field(description="When the value was last set.")
    by: str = Field(description="Name of the user or token that last set the value.")


class Secrets(Resource):
    """The secrets of a workspace, by name."""

    items: list[Secret]


class ListSecretsRequest(Request):
    """A workspace."""

    workspace: PlaceName


class SecretRequest(ListSecretsRequest):
    """One secret of a workspace."""

    secret: SecretName


class SetSecretRequest(SecretRequest):
    """A secret's new value. Runs that start from now on get it."""

    secret_value: Annotated[str, Field(max_length=MAX_VALUE_BYTES, repr=False)] = Field(
        description="The value, as text of 8 characters to 64 KiB. No response contains it."
    )
