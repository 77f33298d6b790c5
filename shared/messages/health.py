"""Health of one process: the last result of each of its checks."""

from datetime import datetime

from pydantic import Field

from shared.messages.base import Query, Record

PROCESS = "process"
"""Check of the process itself: it has started and is not ending."""


class CheckResult(Record):
    """Result of one check."""

    name: str = Field(description="What is checked, such as `bus` or `database`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why the check failed; null while it passes.")
    since: datetime = Field(description="When the check last changed between passing and failing.")


class HealthReport(Record):
    """All checks of one process, in the order in which they were added."""

    checks: tuple[CheckResult, ...]
    warnings: tuple[str, ...] = Field(
        default=(), description="Problems that fail no check, such as an audit log that is not anchored."
    )

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


class SearcherHealth(Query[HealthReport], owner="searcher", name="health"):
    """gateway → searcher: health of a replica's dependencies."""


class SchedulerHealth(Query[HealthReport], owner="scheduler", name="health"):
    """gateway → scheduler: health of the dependencies of the leader or a standby."""


class ProvisionerHealth(Query[HealthReport], owner="provisioner", name="health"):
    """gateway → provisioner: health of the dependencies of the leader or a standby."""


class RegistryHealth(Query[HealthReport], owner="registry", name="health"):
    """gateway → registry: health of a replica's dependencies."""


BY_OWNER: dict[str, type[Query[HealthReport]]] = {
    question.OWNER: question
    for question in (SearcherHealth, SchedulerHealth, ProvisionerHealth, RegistryHealth)
}
