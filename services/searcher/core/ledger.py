"""What the runs of a search have used and use now, by the scheduler's times: slots, and their price where it is told."""

from dataclasses import dataclass, replace

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Holding:
    """A run's slots (less than one: a part of one) from `since_ms` on, and what one of them costs for an hour; `until_ms` None: it has them still."""

    slots: float
    since_ms: int
    until_ms: int | None = None
    price: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.until_ms is not None

    def used(self, now_ms: int) -> "Used":
        """What it has used by now."""
        wall_ms = max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)
        slot_ms = self.slots * wall_ms
        return Used(wall_ms, slot_ms, slot_ms / HOUR_MS * self.price)


@dataclass(frozen=True, slots=True)
class Used:
    """Milliseconds for which slots were held, these times the slots, and their cost."""

    wall_ms: float = 0.0
    slot_ms: float = 0.0
    cost: float = 0.0

    def __add__(self, other: "Used") -> "Used":
        return Used(self.wall_ms + other.wall_ms, self.slot_ms + other.slot_ms, self.cost + other.cost)


NOTHING = Used()


class Ledger:
    """An index of runs. A run is counted once, in whatever order its grant and its end are told."""

    def __init__(self) -> None:
        self._held: dict[int, Holding] = {}
        self._newest: dict[int, int] = {}
        self._trials: dict[int, Used] = {}
        self._past = NOTHING

    def is_news(self, trial: int, run: int, holding: Holding) -> bool:
        """Whether that is not known yet: a newer run, other slots, or the end of the run that has slots."""
        newest = self._newest.get(trial, 0)
        held = self._held.get(trial)
        if run != newest or held is None:
            return run > newest
        return holding.is_over or holding.slots != held.slots

    def take(self, trial: int, run: int, holding: Holding) -> None:
        """Take in what a run holds, or has held.

        A run's price is what it was when its slots were granted; other slots count from `since_ms` on.
        """
        held = self._held.pop(trial, None)
        if held is not None:
            is_same = self._newest[trial] == run
            until = holding.until_ms if is_same and holding.until_ms is not None else holding.since_ms
            self._book(trial, replace(held, until_ms=max(until, held.since_ms)))
            if is_same and holding.is_over:
                return
            if is_same:
                holding = replace(holding, price=held.price)
        self._newest[trial] = run
        if holding.is_over:
            self._book(trial, holding)
        else:
            self._held[trial] = holding

    def used(self, now_ms: int) -> Used:
        """What all runs have used by now."""
        total = self._past
        for held in self._held.values():
            total += held.used(now_ms)
        return total

    def of(self, trial: int, now_ms: int) -> Used:
        """What the runs of one trial have used by now."""
        held = self._held.get(trial)
        past = self._trials.get(trial, NOTHING)
        return past if held is None else past + held.used(now_ms)

    @property
    def slots(self) -> float:
        """How many slots runs hold now."""
        return sum(held.slots for held in self._held.values())

    @property
    def cost_per_ms(self) -> float:
        """What the slots that runs hold now cost for a millisecond."""
        return sum(held.slots * held.price for held in self._held.values()) / HOUR_MS

    def _book(self, trial: int, over: Holding) -> None:
        used = over.used(over.since_ms)
        self._past += used
        self._trials[trial] = self._trials.get(trial, NOTHING) + used
