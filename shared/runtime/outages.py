"""Logs an outage twice: when it begins, and when it ends with its duration.

A loop that retries five times a second would otherwise fill the log while a server is down.
"""

import asyncio
from dataclasses import dataclass

import structlog

_log = structlog.get_logger()


@dataclass(slots=True)
class _Outage:
    """A current outage. `began`: its start on the event loop's clock."""

    began: float
    failures: int = 1


class Outages:
    """Current outages of one component, by name of the failing work. `facts` are logged with each line."""

    def __init__(self, **facts: object) -> None:
        self._facts = facts
        self._present: dict[str, _Outage] = {}

    def failed(self, work: str, why: BaseException | str) -> None:
        """Log a warning if the work did not fail before; otherwise count the failure."""
        outage = self._present.get(work)
        if outage is not None:
            outage.failures += 1
            return
        self._present[work] = _Outage(_now())
        _log.warning("an outage began", of=work, why=str(why) or repr(why), **self._facts)

    def worked(self, work: str) -> None:
        """Log the end of an outage, if there was one."""
        outage = self._present.pop(work, None)
        if outage is not None:
            lasted_s = round(_now() - outage.began, 3)
            _log.info("an outage ended", of=work, lasted_s=lasted_s, failures=outage.failures, **self._facts)


def _now() -> float:
    return asyncio.get_running_loop().time()
