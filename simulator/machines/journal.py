"""A worker's journal of validations: on disk, in order, sent until the registry has stored them. It survives
daemon restarts and power cuts."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.scheduler.core.state.records.run import Run
from simulator.event_queue import Act
from simulator.machines.registry import SimulatedRegistry, Unknown

RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class JournaledReport:
    """One validation; `number` counts the validations of its run from 1."""

    run: Run
    number: int
    step: int
    values: Mapping[str, float]


class Journal:
    """See the module.

    Args:
        reaches: Whether the registry can be reached now.
        later: Runs a callback after a delay, unless the power is cut before.
        on_sent: Called once delayed entries are stored.
    """

    def __init__(
        self,
        registry: SimulatedRegistry,
        reaches: Callable[[], bool],
        later: Callable[[int, Act], None],
        on_sent: Callable[[], None],
    ) -> None:
        self._registry = registry
        self._reaches = reaches
        self._later = later
        self._on_sent = on_sent
        self._lines: deque[JournaledReport] = deque()

    def __len__(self) -> int:
        return len(self._lines)

    def write(self, line: JournaledReport) -> None:
        """Append an entry, and send it unless others are pending."""
        self._lines.append(line)
        if len(self._lines) == 1 and not self._sends():
            self._later(RETRY_MS, self.flush)

    def flush(self) -> None:
        """Send pending entries, and retry until they are stored."""
        if not self._lines:
            return
        if self._sends():
            self._on_sent()
        else:
            self._later(RETRY_MS, self.flush)

    def _sends(self) -> bool:
        while self._lines and self._reaches():
            line = self._lines[0]
            try:
                self._registry.store(line.run, line.number, line.step, line.values)
            except Unknown:
                return False
            self._lines.popleft()
        return not self._lines
