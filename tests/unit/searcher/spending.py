"""A world in which runs hold slots and time passes: for searches with a budget."""

from collections.abc import Mapping
from datetime import timedelta

from services.searcher.core.budget.ledger import HOUR_MS, NOTHING, BudgetUsage, SlotUsage
from services.searcher.core.budget.limits import millis
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import replay
from services.searcher.core.reducers.limits import keep_budget
from services.searcher.core.reducers.submissions import Submitted, on_submission
from shared.ids import PoolName
from tests.unit.searcher.world import SEED, World, config, stored

POOL = PoolName("default")
RANDOM: dict[str, object] = {"name": "random", "max_trials": 20, "max_concurrent_trials": 4}


class Spending(World):
    """A world with a clock: runs have one slot each, at `price` for an hour."""

    price = 0.0

    def started(self) -> "Spending":
        self.apply(lambda changes: on_submission(changes, Submitted(at=self.now, price=self.price)))
        return self

    def after(self, minutes: float) -> "Spending":
        self.now += timedelta(minutes=minutes)
        return self

    def held(self, number: int, is_over: bool = False) -> SlotUsage:
        until_ms = millis(self.now) if is_over else None
        return SlotUsage(1, millis(self.now), until_ms, self.price, POOL)

    def grant_all(self, *numbers: int) -> None:
        for number in numbers:
            self.grant(number)

    def look(self) -> None:
        """What the searcher does by the clock."""
        self.apply(lambda changes: keep_budget(changes, {POOL: self.price}))

    def used_by_ended(self) -> BudgetUsage:
        """What trials have used that are over, as the database sums it up."""
        total = NOTHING
        for trial in self.trials.values():
            total += trial.usage.past if trial.is_final else NOTHING
        return total

    def hours_used(self) -> float:
        """Slot-hours of all runs, by the accounts of their trials."""
        used = (trial.usage.used(millis(self.now)) for trial in self.trials.values())
        return sum(each.slot_ms for each in used) / HOUR_MS

    def check_replay(self) -> None:
        """A replay decides the same, and a search that is rebuilt has used and plans the same."""
        assert replay(self.config, SEED, stored(self.journal)) is None
        before = self.search.spending
        self.restart()
        assert self.search.planned() == self.experiment.planned
        assert (self.search.spending.limits, self.search.spending.used) == (before.limits, before.used)

    @property
    def due_in_minutes(self) -> float:
        assert self.experiment.due_at is not None
        return (self.experiment.due_at - self.now).total_seconds() / 60


def spending(searcher: Mapping[str, object], price: float = 0.0, **budget: object) -> Spending:
    """A search that has begun, with a budget where one is given."""
    world = Spending(config({**searcher}, **({"budget": budget} if budget else {})))
    world.price = price
    return world.started()


def of_kind(world: World, kind: str) -> list[Entry]:
    return [entry for entry in world.journal if entry.kind == kind]
