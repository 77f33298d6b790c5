"""The health of one process, as it reports it: the last result of each of its checks."""

from datetime import datetime

from pydantic import Field

from shared.messages.base import Query, Record

PROCESS = "process"
"""The check of a process itself: it has started, and is not ending."""


class CheckResult(Record):
    """What one check found."""

    name: str = Field(description="What is checked, such as `bus` or `database`.")
    ok: bool
    reason: str | None = Field(default=None, description="Why it failed; null while it holds.")
    since: datetime = Field(description="When the check began to hold, or to fail.")


class HealthReport(Record):
    """All checks of one process, in the order in which they were added."""

    checks: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


class SearcherHealth(Query[HealthReport], owner="searcher", name="health"):
    """gateway → searcher: do the dependencies of a replica work?"""


class SchedulerHealth(Query[HealthReport], owner="scheduler", name="health"):
    """gateway → scheduler: do the dependencies of the leader or of a stand-by work?"""


class ProvisionerHealth(Query[HealthReport], owner="provisioner", name="health"):
    """gateway → provisioner: do the dependencies of the leader or of a stand-by work?"""


class RegistryHealth(Query[HealthReport], owner="registry", name="health"):
    """gateway → registry: do the dependencies of a replica work?"""


BY_OWNER: dict[str, type[Query[HealthReport]]] = {
    question.OWNER: question
    for question in (SearcherHealth, SchedulerHealth, ProvisionerHealth, RegistryHealth)
}
