"""Report the health of the gateway and of the platform."""

from collections.abc import Mapping

from services.gateway.health.schema import Health, HealthState, PlatformHealth, ServiceCheck
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import waiting_for_bus
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import SAFE
from services.gateway.platform.schema import Empty
from shared.bus.health import BUS, DATABASE
from shared.messages.health import HealthReport


async def get_health(call: Call, request: Empty) -> Health:
    """Check that the gateway answers."""
    return Health(status="ok", version=call.dependencies.site.version)


async def get_platform_health(call: Call, _: Empty) -> PlatformHealth:
    """Show whether the platform works. Site operators also see every check of every service."""
    reports = await call.dependencies.site.health.reports()
    checks = [
        ServiceCheck(service=service, **check.model_dump())
        for service, report in reports.items()
        for check in report.checks
    ]
    failing = [check for check in checks if not check.ok]
    bus = waiting_for_bus(call)
    return PlatformHealth(
        state=HealthState.DEGRADED if failing or bus else HealthState.OK,
        summary=_summary(reports, bus),
        since=min((check.since for check in failing), default=None),
        checks=checks if call.caller.is_site_operator else [],
        warnings=[
            warning
            for report in reports.values()
            for warning in report.warnings
            if call.caller.is_site_operator
        ],
    )


def _summary(reports: Mapping[str, HealthReport], bus: str | None) -> str | None:
    """Describe the effect on users. Reasons name servers, so only operators see them."""
    broken = {
        service: {check.name for check in report.checks if not check.ok}
        for service, report in reports.items()
    }
    names = set().union(*broken.values())
    if bus is not None or BUS in names:
        return (
            "The message bus does not accept messages. New experiments and commands are stored and take"
            " effect once it does."
        )
    if DATABASE in names:
        return "A database does not accept writes. Changes may be refused until it does."
    failing = sorted(service for service, checks in broken.items() if checks)
    if failing:
        return f"Degraded services: {', '.join(failing)}. Requests that need them are slow or fail."
    return None


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetHealth", "GET", "/v1/health", Empty, Health, Access.PUBLIC, SAFE, get_health, is_probe=True),
    Operation("GetPlatformHealth", "GET", "/v1/health/platform", Empty, PlatformHealth, Permission.SELF, SAFE, get_platform_health),
)
# fmt: on
