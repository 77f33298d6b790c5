"""Why a process could not start, and whose fault that is: a pipe from the fork to the warm parent, closed before code of the trial runs.

Exit codes prove nothing: the trial's code may end with any.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MACHINE, TRIAL = "machine", "trial"
_MAX_BYTES = 4096


class StartReport:
    """The end of the fork."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def close_others(self) -> None:
        """Close all other descriptors but the standard ones."""
        assert self._descriptor is not None
        os.closerange(3, self._descriptor)
        os.closerange(self._descriptor + 1, 1 << 20)

    def close(self) -> None:
        """End the report: the process has started."""
        assert self._descriptor is not None
        os.close(self._descriptor)
        self._descriptor = None

    def write(self, error: BaseException, *, is_spoiled: bool) -> None:
        """Say why the process could not start, unless it has. `is_spoiled`: processes of the trial have caused it."""
        if self._descriptor is not None:
            text = f"{TRIAL if is_spoiled else MACHINE}:{str(error) or type(error).__name__}"
            with suppress(OSError):
                os.write(self._descriptor, text.encode(errors="replace")[:_MAX_BYTES])


class ReportReader:
    """The end of the warm parent."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def read(self) -> tuple[str, str]:
        """Return why the process, which has ended, could not start: because of the machine, and because of the trial. Both empty: it did."""
        text = ""
        with suppress(BlockingIOError):
            text = os.read(self._descriptor, _MAX_BYTES).decode(errors="replace")
        os.close(self._descriptor)
        whose, _, why = text.partition(":")
        return (why, "") if whose == MACHINE else ("", why)


@contextmanager
def open_report() -> Iterator[tuple[ReportReader, StartReport]]:
    """Yield both ends of a new report, for a fork in between. Raises OSError."""
    here, there = os.pipe()
    try:
        yield ReportReader(here), StartReport(there)
    except BaseException:
        os.close(here)
        raise
    finally:
        os.close(there)
