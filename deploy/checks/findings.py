"""A check of `muster doctor`, what it finds, and how all of them run: side by side, each with a time limit."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from enum import StrEnum
from threading import Thread

from muster.errors import MusterError

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*(?=@)")


class Level(StrEnum):
    """How serious a finding is. Only errors make `muster doctor` fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of a check. `remedy`: the action that corrects it; empty if it is ok."""

    level: Level
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One question. `why`: the consequence of a bad answer. `run` may block, and may raise: that is an error."""

    group: str
    name: str
    why: str
    run: Callable[[], Finding]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The finding of a check, with the check."""

    group: str
    check: str
    level: Level
    found: str
    why: str
    remedy: str
    seconds: float

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def ok(found: str) -> Finding:
    return Finding(Level.OK, found)


def warning(found: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, found, remedy)


def error(found: str, remedy: str) -> Finding:
    return Finding(Level.ERROR, found, remedy)


def worst(findings: Iterable[Finding]) -> Finding:
    """Return the most serious finding with the texts of all equally serious ones."""
    found = list(findings)
    level = max((one.level for one in found), key=list(Level).index)
    same = [one for one in found if one.level is level]
    remedies = dict.fromkeys(one.remedy for one in same if one.remedy)
    return Finding(level, "; ".join(dict.fromkeys(one.found for one in same)), "; ".join(remedies))


def hide_passwords(text: str) -> str:
    """Replace user and password of every address in a text."""
    return _PASSWORD.sub("***", text)


def run_checks(checks: Sequence[Check], timeout_s: float) -> list[CheckOutcome]:
    """Run all checks at once, each in a thread, and return their results in order; one that takes longer than the limit is an error."""
    started_at = time.monotonic()
    running = [(check, _in_thread(check)) for check in checks]
    return [_result(check, future, started_at, timeout_s) for check, future in running]


def _result(
    check: Check, future: "Future[tuple[Finding, float]]", started_at: float, timeout_s: float
) -> CheckOutcome:
    try:
        finding, seconds = future.result(max(0.0, started_at + timeout_s - time.monotonic()))
    except TimeoutError:
        remedy = "find out what does not answer, such as a firewall or a hanging file system; --timeout sets the limit"
        finding, seconds = error(f"no answer within {timeout_s:g} s", remedy), timeout_s
    return CheckOutcome(
        group=check.group,
        check=hide_passwords(check.name),
        level=finding.level,
        found=hide_passwords(finding.found),
        why=check.why,
        remedy=hide_passwords(finding.remedy),
        seconds=round(seconds, 3),
    )


def _in_thread(check: Check) -> "Future[tuple[Finding, float]]":
    """Run a check in a daemon thread: one that hangs must not keep the command from ending."""
    promised: Future[tuple[Finding, float]] = Future()

    def main() -> None:
        started_at = time.monotonic()
        try:
            finding = check.run()
        except MusterError as failure:
            finding = error(failure.message, failure.hint or "correct the cause, and run the check again")
        except Exception as failure:  # noqa: BLE001 - a check that fails must not hide the others
            finding = error(
                f"{type(failure).__name__}: {failure}", "correct the cause, and run the check again"
            )
        promised.set_result((finding, time.monotonic() - started_at))

    Thread(target=main, daemon=True, name=check.name).start()
    return promised
