"""Limit on trials whose scripts report their hyperparameters as invalid."""

from dataclasses import dataclass, field

MAX_INVALID_IN_A_ROW = 100
"""A search gives up after this many more invalid trials in a row than its total number of trials: such a space is almost all invalid."""


@dataclass(slots=True)
class InvalidTrials:
    """Number of invalid trials, and the reason why the search gave up.

    Rows are runs of neighbouring trial numbers; each end of a row stores its length. Trial numbers make a row, not
    the order of ends, because a good trial takes long while its invalid neighbours end at once.
    """

    count: int = 0
    gave_up: str | None = None
    _rows: dict[int, int] = field(default_factory=dict)

    def add(self, trial: int, planned: int) -> int:
        """Record an invalid trial of a search with `planned` trials; return the length of its row."""
        self.count += 1
        before, after = self._rows.get(trial - 1, 0), self._rows.get(trial + 1, 0)
        row = before + 1 + after
        self._rows[trial] = self._rows[trial - before] = self._rows[trial + after] = row
        if self.gave_up is None and row >= planned + MAX_INVALID_IN_A_ROW:
            self.gave_up = f"the search gave up after {row} trials in a row reported invalid hyperparameters"
        return row
