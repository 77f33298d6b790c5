"""Says of an outage twice: when it began, and when it ended and how long it lasted.

A loop that tries again five times a second would otherwise fill the log with one sentence while a server is away.
"""

import asyncio
from dataclasses import dataclass

import structlog

_log = structlog.get_logger()


@dataclass(slots=True)
class _Outage:
    """One that goes on, since `began` on the event loop's clock."""

    began: float
    failures: int = 1


class Outages:
    """What one part of a process cannot do at present, by the name of the work; `facts` stand on each line."""

    def __init__(self, **facts: object) -> None:
        self._facts = facts
        self._present: dict[str, _Outage] = {}

    def failed(self, work: str, why: BaseException | str) -> None:
        """Warns when the work did not fail before; otherwise counts."""
        outage = self._present.get(work)
        if outage is not None:
            outage.failures += 1
            return
        self._present[work] = _Outage(_now())
        _log.warning("an outage began", of=work, why=str(why) or repr(why), **self._facts)

    def worked(self, work: str) -> None:
        """Tells that an outage has ended, where there was one."""
        outage = self._present.pop(work, None)
        if outage is not None:
            lasted_s = round(_now() - outage.began, 3)
            _log.info("an outage ended", of=work, lasted_s=lasted_s, failures=outage.failures, **self._facts)


def _now() -> float:
    return asyncio.get_running_loop().time()
