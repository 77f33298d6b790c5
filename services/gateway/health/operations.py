"""Whether the platform works, and why what was stored has not taken effect yet."""

from collections.abc import Mapping

from services.gateway.health.schema import Health, HealthState, PlatformHealth, ServiceCheck
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.call import Call
from services.gateway.platform.commands.long_operation_answers import waiting_for_bus
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import SAFE
from services.gateway.platform.schema import Empty
from shared.bus.health import BUS, DATABASE
from shared.messages.health import HealthReport


async def get_health(call: Call, request: Empty) -> Health:
    """Says that the gateway answers."""
    return Health(status="ok", version=call.doors.site.version)


async def get_platform_health(call: Call, _: Empty) -> PlatformHealth:
    """Shows whether the platform works; operators of the site also see every check of every service."""
    reports = await call.doors.site.health.reports()
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
        checks=checks if call.caller.keeps_site else [],
    )


def _summary(reports: Mapping[str, HealthReport], bus: str | None) -> str | None:
    """What users notice. Reasons name servers, so they are for operators."""
    broken = {
        service: {check.name for check in report.checks if not check.ok}
        for service, report in reports.items()
    }
    names = set().union(*broken.values())
    if bus is not None or BUS in names:
        return (
            "The message bus does not accept messages. New experiments and commands are stored, and take"
            " effect when it accepts messages again."
        )
    if DATABASE in names:
        return "A database does not accept writes. Changes may be refused until it does."
    failing = sorted(service for service, checks in broken.items() if checks)
    if failing:
        return (
            f"Not fully working: {', '.join(failing)}. Requests that need it are answered late or not at all."
        )
    return None


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetHealth", "GET", "/v1/health", Empty, Health, Access.PUBLIC, SAFE, get_health, is_probe=True),
    Operation("GetPlatformHealth", "GET", "/v1/health/platform", Empty, PlatformHealth, Permission.SELF, SAFE, get_platform_health),
)
# fmt: on
