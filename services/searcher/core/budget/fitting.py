"""Choose how many trials of a successive-halving search fit into its budget, before the first trial starts."""

from dataclasses import dataclass
from math import inf

from muster.config import AdaptiveAsha, AsyncHalving, ExperimentConfig
from muster.config.searchers import MAX_RUNGS
from services.searcher.core.budget.ledger import HOUR_MS
from services.searcher.core.budget.limits import BudgetLimits, Limit
from services.searcher.core.methods.halving import BracketSize, plan_brackets, planned_stops, rung_targets

Halving = AdaptiveAsha | AsyncHalving


@dataclass(frozen=True, slots=True)
class FittedConfig:
    """A config whose `max_trials` fits the budget. `limit` is the limit that reduced it, None if it is unchanged."""

    config: ExperimentConfig
    limit: Limit | None = None


def fit(config: ExperimentConfig, limits: BudgetLimits, price: float, now_ms: int) -> FittedConfig:
    """Return the config with the largest number of trials that the budget covers on average, at least one.

    Brackets follow from the number of trials: fewer trials get fewer and shallower brackets. The config stays
    unchanged if `trial_s` is not set, and for searchers whose trials all train equally long: those start trials one
    by one until the budget is exhausted.
    """
    searcher, budget = config.searcher, config.budget
    if not isinstance(searcher, Halving) or budget is None or budget.trial_s is None:
        return FittedConfig(config)
    trial_ms = budget.trial_s * 1000
    by_limit = _most_trials(
        limits, price, now_ms, trial_ms, config.slots_held, searcher.max_concurrent_trials
    )
    limit = min(by_limit, key=lambda one: by_limit[one], default=None)
    most = by_limit[limit] if limit else inf

    # A trial costs at least its first rung. More trials do not always cost more: fewer may get deeper brackets.
    rungs = searcher.num_rungs if isinstance(searcher, AsyncHalving) else MAX_RUNGS
    first = rung_targets(searcher.max_time, searcher.divisor, rungs)[0] / searcher.max_time
    numbers = range(int(min(searcher.max_trials, most / first)), 1, -1)
    fitting = next((one for one in numbers if _units(searcher, one) <= most * searcher.max_time), 1)
    if fitting == searcher.max_trials:
        return FittedConfig(config)
    fitted = searcher.model_copy(update={"max_trials": fitting})
    return FittedConfig(config.model_copy(update={"searcher": fitted}), limit)


def _most_trials(
    limits: BudgetLimits, price: float, now_ms: int, trial_ms: float, slots: float, concurrent: int
) -> dict[Limit, float]:
    """Return, for each limit, how many fully trained trials it covers."""
    found: dict[Limit, float] = {}
    hours = trial_ms * slots / HOUR_MS
    if limits.slot_hours is not None and hours:
        found["slot_hours"] = limits.slot_hours / hours
    if limits.cost is not None and hours * price:
        found["cost"] = limits.cost / (hours * price)
    if limits.deadline_ms is not None and concurrent:
        found["deadline"] = (limits.deadline_ms - now_ms) / trial_ms * concurrent
    return found


def _units(searcher: Halving, trials: int) -> float:
    """Return the total training time of so many trials if every rung keeps its share of them."""
    fewer = searcher.model_copy(update={"max_trials": trials})
    brackets = (
        plan_brackets(fewer)
        if isinstance(fewer, AdaptiveAsha)
        else (BracketSize(fewer.num_rungs, trials, trials),)
    )
    stops = planned_stops(brackets, searcher.max_time, searcher.divisor)
    return float(sum(time * count for time, count in stops.items()))
