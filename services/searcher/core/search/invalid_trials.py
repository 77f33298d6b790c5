"""Trials whose scripts call their hyperparameters invalid: how many of them a search bears."""

from dataclasses import dataclass, field

MAX_INVALID_IN_A_ROW = 100
"""A search gives up after so many more in a row than it makes trials in all: such a space has next to nothing to try."""


@dataclass(slots=True)
class InvalidTrials:
    """How many there are, and why the search makes no more trials, once it has borne enough.

    They stand in rows of neighbouring numbers, each known by the length that stands at both of its ends. Numbers and not ends make a row:
    a good trial takes long, and the invalid ones beside it end at once.
    """

    count: int = 0
    gave_up: str | None = None
    _rows: dict[int, int] = field(default_factory=dict)

    def add(self, trial: int, planned: int) -> int:
        """Take in an invalid trial of a search that makes so many in all; return how long the row is that it belongs to."""
        self.count += 1
        before, after = self._rows.get(trial - 1, 0), self._rows.get(trial + 1, 0)
        row = before + 1 + after
        self._rows[trial] = self._rows[trial - before] = self._rows[trial + after] = row
        if self.gave_up is None and row >= planned + MAX_INVALID_IN_A_ROW:
            self.gave_up = (
                f"{row} trials in a row were called invalid by their scripts, and no more are tried"
            )
        return row
