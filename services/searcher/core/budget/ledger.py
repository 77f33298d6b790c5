"""What the runs of a search have used and use now, by the scheduler's times: slots, and their price where it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.ids import PoolName

HOUR_MS = 3_600_000

Prices = Mapping[PoolName, float]
"""Of a slot for an hour."""

UNKNOWN_POOL = PoolName("")
"""The pool of a run of which older journals do not tell it."""


@dataclass(frozen=True, slots=True)
class SlotUsage:
    """A run's slots (less than one: a part of one) of a pool from `since_ms` on, and what one of them costs for an hour; `until_ms` None: it has them still."""

    slots: float
    since_ms: int
    until_ms: int | None = None
    price: float = 0.0
    pool: PoolName = UNKNOWN_POOL

    @property
    def is_over(self) -> bool:
        return self.until_ms is not None

    def used(self, now_ms: int) -> "BudgetUsage":
        """What it has used by now."""
        wall_ms = max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)
        slot_ms = self.slots * wall_ms
        return BudgetUsage(wall_ms, slot_ms, slot_ms / HOUR_MS * self.price)


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """Milliseconds for which slots were held, these times the slots, and their cost."""

    wall_ms: float = 0.0
    slot_ms: float = 0.0
    cost: float = 0.0

    def __add__(self, other: "BudgetUsage") -> "BudgetUsage":
        return BudgetUsage(self.wall_ms + other.wall_ms, self.slot_ms + other.slot_ms, self.cost + other.cost)

    def __sub__(self, other: "BudgetUsage") -> "BudgetUsage":
        return BudgetUsage(self.wall_ms - other.wall_ms, self.slot_ms - other.slot_ms, self.cost - other.cost)


NOTHING = BudgetUsage()


@dataclass(frozen=True, slots=True)
class TrialAccount:
    """What the runs of one trial have used: a run counts once, in whatever order its grant and its end are told.

    Attributes:
        run: The newest run.
        held: What it holds now.
        past: What was used before that.
    """

    run: int = 0
    held: SlotUsage | None = None
    past: BudgetUsage = NOTHING

    def is_news(self, run: int, holding: SlotUsage) -> bool:
        """Whether that is not known yet: a newer run, other slots, or the end of the run that has slots."""
        if run != self.run or self.held is None:
            return run > self.run
        return holding.is_over or holding.slots != self.held.slots

    def told(self, run: int, holding: SlotUsage) -> "TrialAccount":
        """Return the account after hearing what a run holds, or has held; other slots of the same run count from `since_ms` on, at its price."""
        past, held = self.past, self.held
        if held is not None:
            is_same = self.run == run
            until_ms = holding.until_ms if is_same and holding.until_ms is not None else holding.since_ms
            past += replace(held, until_ms=max(until_ms, held.since_ms)).used(until_ms)
            if is_same and holding.is_over:
                return TrialAccount(run, None, past)
            if is_same:
                holding = replace(holding, price=held.price)
        if holding.is_over:
            return TrialAccount(run, None, past + holding.used(holding.since_ms))
        return TrialAccount(run, holding, past)

    def priced(self, price: float, now_ms: int) -> "TrialAccount":
        """Return the account with what is held counting at another price from now on."""
        if self.held is None:
            return self
        now_ms = max(now_ms, self.held.since_ms)
        past = self.past + self.held.used(now_ms)
        return TrialAccount(self.run, replace(self.held, since_ms=now_ms, price=price), past)

    def used(self, now_ms: int) -> BudgetUsage:
        """What all its runs have used by now."""
        return self.past if self.held is None else self.past + self.held.used(now_ms)


NEW = TrialAccount()


@dataclass(frozen=True, slots=True)
class LedgerOpening:
    """What is known where a search that runs is counted from now on: what a slot costs, what trials that are over have used, and the
    accounts of the others."""

    now_ms: int
    price: float = 0.0
    past: BudgetUsage = NOTHING
    accounts: Mapping[int, TrialAccount] = field(default_factory=dict)

    @property
    def used(self) -> BudgetUsage:
        """What it has used by now."""
        total = self.past
        for account in self.accounts.values():
            total += account.used(self.now_ms)
        return total


class Ledger:
    """The accounts of all trials, and their sum; `past`: what was used before there was one."""

    def __init__(
        self, past: BudgetUsage = NOTHING, accounts: Mapping[int, TrialAccount] | None = None
    ) -> None:
        self._accounts: dict[int, TrialAccount] = {}
        self._held: dict[int, SlotUsage] = {}
        self._past = past
        for trial, account in sorted((accounts or {}).items()):
            self._put(trial, account)

    def is_news(self, trial: int, run: int, holding: SlotUsage) -> bool:
        """Whether that is not known yet."""
        return self._of(trial).is_news(run, holding)

    def take(self, trial: int, run: int, holding: SlotUsage) -> None:
        """Take in what a run holds, or has held."""
        self._put(trial, self._of(trial).told(run, holding))

    def price(self, pool: PoolName, price: float, now_ms: int) -> None:
        """Count what runs hold in a pool at this price from now on."""
        for trial in [trial for trial, held in self._held.items() if held.pool == pool]:
            self._put(trial, self._of(trial).priced(price, now_ms))

    def misprized(self, prices: Prices) -> list[PoolName]:
        """Return the pools in which runs hold slots at another price."""
        held = self._held.values()
        return sorted({each.pool for each in held if prices.get(each.pool, each.price) != each.price})

    def used(self, now_ms: int) -> BudgetUsage:
        """What all runs have used by now."""
        total = self._past
        for held in self._held.values():
            total += held.used(now_ms)
        return total

    def of(self, trial: int, now_ms: int) -> BudgetUsage:
        """What the runs of one trial have used by now."""
        return self._of(trial).used(now_ms)

    @property
    def slots(self) -> float:
        """How many slots runs hold now."""
        return sum(held.slots for held in self._held.values())

    @property
    def cost_per_ms(self) -> float:
        """What the slots that runs hold now cost for a millisecond."""
        return sum(held.slots * held.price for held in self._held.values()) / HOUR_MS

    def _of(self, trial: int) -> TrialAccount:
        return self._accounts.get(trial, NEW)

    def _put(self, trial: int, account: TrialAccount) -> None:
        self._past += account.past - self._of(trial).past
        self._accounts[trial] = account
        self._held.pop(trial, None)
        if account.held is not None:
            self._held[trial] = account.held
