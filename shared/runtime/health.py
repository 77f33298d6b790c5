"""Health checks of one process: each probes a dependency periodically, and readers get the last results at once.

`shared.runtime.process` runs the checks, `shared.runtime.side_port` serves them at `/ready`, and `shared.bus.health` has the probes of every service.
A probe never runs twice concurrently, so a dependency that hangs costs one waiting task.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from shared.clock import Clock
from shared.errors import MusterError
from shared.messages.health import CheckResult, HealthReport
from shared.runtime.cancelling import raise_if_cancelled
from shared.telemetry import metrics

PERIOD_S = 5.0
AGAIN_S = 1.0
"""Interval after a failure: shorter, to notice recovery early."""
TIMEOUT_S = 3.0
STALE_S = 3 * (PERIOD_S + TIMEOUT_S)
"""Age at which a result is no longer trusted: the check itself hangs."""

_NOT_YET = "the check has not run yet"
_log = structlog.get_logger()

Probe = Callable[[], Awaitable[str | None]]
"""Returns why the dependency does not work, None if it works; may raise MusterError instead."""


@dataclass(slots=True)
class _Check:
    """The last result of one check, and when it was found."""

    reason: str | None
    since: datetime
    at_s: float
    has_run: bool = False


class HealthChecks:
    """Checks of one process.

    Args:
        service: Its name in metrics.
    """

    def __init__(
        self,
        service: str,
        clock: Clock,
        period_s: float = PERIOD_S,
        again_s: float = AGAIN_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._service = service
        self._clock = clock
        self._period_s = period_s
        self._again_s = again_s
        self._timeout_s = timeout_s
        self._checks: dict[str, _Check] = {}
        self._warnings: dict[str, str] = {}

    async def keep(self, name: str, probe: Probe) -> None:
        """Probe one dependency until cancelled."""
        self.add_check(name)
        while True:
            self._note(name, await self._reason(name, probe))
            raise_if_cancelled()
            await asyncio.sleep(self._period_s if self._checks[name].reason is None else self._again_s)

    def add_check(self, name: str) -> None:
        """Add a check, which fails until it has run."""
        self._checks.setdefault(name, _Check(_NOT_YET, self._clock.now(), self._clock.monotonic()))

    def warn(self, name: str, text: str | None) -> None:
        """Set a warning of the report, or remove it (None). It fails no check, so that the process still gets requests."""
        if text is None:
            self._warnings.pop(name, None)
        else:
            self._warnings[name] = text

    def report(self) -> HealthReport:
        """Return the last result of each check."""
        checks = tuple(self._result(name, check) for name, check in self._checks.items())
        return HealthReport(checks=checks, warnings=tuple(self._warnings.values()))

    def failing_since(self, name: str) -> datetime | None:
        """Return when a check that has run started to fail; None while it passes."""
        check = self._checks.get(name)
        return check.since if check is not None and check.has_run and check.reason is not None else None

    async def _reason(self, name: str, probe: Probe) -> str | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await probe()
        except TimeoutError:
            return f"no response within {self._timeout_s:g} s"
        except MusterError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - any error fails the check, and the loop continues
            if self._checks[name].reason is None:  # once, not with each repetition
                _log.exception("a health check raised an unexpected error", check=name)
            return f"{type(error).__name__}: {error}"

    def _note(self, name: str, reason: str | None) -> None:
        check = self._checks[name]
        was_ok = check.reason is None
        if was_ok != (reason is None) or not check.has_run:
            check.since = self._clock.now()
            if reason is not None:
                _log.warning("a health check failed", check=name, reason=reason)
            elif check.has_run:
                _log.info("a health check passes again", check=name)
        check.reason, check.at_s, check.has_run = reason, self._clock.monotonic(), True
        metrics.health_check(self._service, name, is_ok=reason is None)

    def _result(self, name: str, check: _Check) -> CheckResult:
        reason = check.reason
        age_s = self._clock.monotonic() - check.at_s
        if reason is None and age_s > STALE_S:
            reason = f"the check has not run for {age_s:.0f} s"
        return CheckResult(name=name, ok=reason is None, reason=reason, since=check.since)
