"""Whether the platform works, as users and operators see it."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from services.gateway.platform.schema import Resource


class HealthState(StrEnum):
    """Whether everything works."""

    OK = "ok"
    DEGRADED = "degraded"


class ServiceCheck(Resource):
    """The last result of one health check of one service."""

    service: str
    name: str = Field(description="What is checked: `bus`, `database`, `outbox`, `leader` or `answers`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why it failed; null while it holds.")
    since: datetime = Field(description="When the check began to hold, or to fail.")


class PlatformHealth(Resource):
    """The state of the platform now."""

    state: HealthState
    summary: str | None = Field(
        default=None, description="What a degraded platform means for its users, in a sentence."
    )
    since: datetime | None = Field(default=None, description="When the first failing check began to fail.")
    checks: list[ServiceCheck] = Field(
        default=[], description="Every check of every service, for operators of the site; empty for others."
    )


class Health(Resource):
    """Whether the gateway answers, and which version it is."""

    status: str
    version: str
