"""API schema of health."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from services.gateway.platform.schema import Resource


class HealthState(StrEnum):
    """Overall state of the platform."""

    OK = "ok"
    DEGRADED = "degraded"


class ServiceCheck(Resource):
    """The last result of one health check of one service."""

    service: str
    name: str = Field(description="Name of the check: `bus`, `database`, `outbox`, `leader` or `answers`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why it fails; null while it passes.")
    since: datetime = Field(description="When the check began to pass or to fail.")


class PlatformHealth(Resource):
    """The current state of the platform."""

    state: HealthState
    summary: str | None = Field(
        default=None, description="Effect on users if the platform is degraded, in a sentence."
    )
    since: datetime | None = Field(default=None, description="When the first failing check began to fail.")
    checks: list[ServiceCheck] = Field(
        default=[], description="All checks of all services, for site operators; empty for other callers."
    )
    warnings: list[str] = Field(
        default=[],
        description="Problems that fail no check, for site operators; empty for other callers.",
    )


class Health(Resource):
    """Status and version of the gateway."""

    status: str
    version: str
