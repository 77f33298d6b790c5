"""Usage of a search's runs by the scheduler's timestamps: slots, and their price where it is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.ids import PoolName

HOUR_MS = 3_600_000

Prices = Mapping[PoolName, float]
"""Price of a slot for an hour, by pool."""

UNKNOWN_POOL = PoolName("")
"""Stands for the pool of a run in older journals, which do not record it."""


@dataclass(frozen=True, slots=True)
class SlotUsage:
    """Slots that a run holds from `since_ms` on, and the hourly price of one slot.

    `slots` is below 1 for a fractional slot. `until_ms` is None while the run still holds them.
    """

    slots: float
    since_ms: int
    until_ms: int | None = None
    price: float = 0.0
    pool: PoolName = UNKNOWN_POOL

    @property
    def is_over(self) -> bool:
        return self.until_ms is not None

    def used(self, now_ms: int) -> "BudgetUsage":
        """Return the usage up to `now_ms`."""
        wall_ms = max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)
        slot_ms = self.slots * wall_ms
        return BudgetUsage(wall_ms, slot_ms, slot_ms / HOUR_MS * self.price)


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """Milliseconds for which slots were held, slot-milliseconds, and their cost."""

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
    """Usage of one trial's runs. Each run counts once, whatever the order in which its grant and its end arrive.

    Attributes:
        run: Number of the newest run.
        held: Slots of the newest run, None if it has ended.
        past: Usage before that.
    """

    run: int = 0
    held: SlotUsage | None = None
    past: BudgetUsage = NOTHING

    def is_change(self, run: int, holding: SlotUsage) -> bool:
        """Whether this changes the account: a newer run, other slots, or the end of the run that holds slots."""
        if run != self.run or self.held is None:
            return run > self.run
        return holding.is_over or holding.slots != self.held.slots

    def with_usage(self, run: int, holding: SlotUsage) -> "TrialAccount":
        """Return the account after a grant, a resize or an end of a run.

        After a resize, the new slots of the same run count from `since_ms` on at the run's price.
        """
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
        """Return the account with the held slots at another price from now on."""
        if self.held is None:
            return self
        now_ms = max(now_ms, self.held.since_ms)
        past = self.past + self.held.used(now_ms)
        return TrialAccount(self.run, replace(self.held, since_ms=now_ms, price=price), past)

    def used(self, now_ms: int) -> BudgetUsage:
        """Return the usage of all runs up to `now_ms`."""
        return self.past if self.held is None else self.past + self.held.used(now_ms)


NEW = TrialAccount()


@dataclass(frozen=True, slots=True)
class LedgerOpening:
    """State from which a running search starts counting.

    Attributes:
        price: Price of a slot for an hour.
        past: Usage of ended trials.
        accounts: Accounts of all other trials.
    """

    now_ms: int
    price: float = 0.0
    past: BudgetUsage = NOTHING
    accounts: Mapping[int, TrialAccount] = field(default_factory=dict)

    @property
    def used(self) -> BudgetUsage:
        """Usage up to `now_ms`."""
        total = self.past
        for account in self.accounts.values():
            total += account.used(self.now_ms)
        return total


class Ledger:
    """Accounts of all trials and their sum. `past` is the usage before counting started."""

    def __init__(
        self, past: BudgetUsage = NOTHING, accounts: Mapping[int, TrialAccount] | None = None
    ) -> None:
        self._accounts: dict[int, TrialAccount] = {}
        self._held: dict[int, SlotUsage] = {}
        self._past = past
        for trial, account in sorted((accounts or {}).items()):
            self._put(trial, account)

    def is_change(self, trial: int, run: int, holding: SlotUsage) -> bool:
        """Whether this changes the trial's account."""
        return self._of(trial).is_change(run, holding)

    def take(self, trial: int, run: int, holding: SlotUsage) -> None:
        """Record what a run holds or has held."""
        self._put(trial, self._of(trial).with_usage(run, holding))

    def price(self, pool: PoolName, price: float, now_ms: int) -> None:
        """Count the slots held in a pool at this price from now on."""
        for trial in [trial for trial, held in self._held.items() if held.pool == pool]:
            self._put(trial, self._of(trial).priced(price, now_ms))

    def repriced_pools(self, prices: Prices) -> list[PoolName]:
        """Return the pools whose price differs from the one at which runs hold slots there."""
        held = self._held.values()
        return sorted({each.pool for each in held if prices.get(each.pool, each.price) != each.price})

    def used(self, now_ms: int) -> BudgetUsage:
        """Return the usage of all runs up to `now_ms`."""
        total = self._past
        for held in self._held.values():
            total += held.used(now_ms)
        return total

    def of(self, trial: int, now_ms: int) -> BudgetUsage:
        """Return the usage of one trial's runs up to `now_ms`."""
        return self._of(trial).used(now_ms)

    @property
    def slots(self) -> float:
        """Number of slots that runs hold now."""
        return sum(held.slots for held in self._held.values())

    @property
    def cost_per_ms(self) -> float:
        """Cost per millisecond of the slots that runs hold now."""
        return sum(held.slots * held.price for held in self._held.values()) / HOUR_MS

    def _of(self, trial: int) -> TrialAccount:
        return self._accounts.get(trial, NEW)

    def _put(self, trial: int, account: TrialAccount) -> None:
        self._past += account.past - self._of(trial).past
        self._accounts[trial] = account
        self._held.pop(trial, None)
        if account.held is not None:
            self._held[trial] = account.held
