"""Adjust concurrency and enforce budgets as idle slots, prices and the time change."""

from services.searcher.core.budget.ledger import Prices
from services.searcher.core.budget.limits import limit_reason
from services.searcher.core.experiment.states import DesiredState, ExperimentState, ExperimentTrigger
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import hurry, stop
from services.searcher.core.reducers.starting import fill
from services.searcher.core.search.widening import Idle, choose_limit


def widen(changes: Changes, idle: Idle) -> None:
    """Create more trials while slots are idle, or return to the configured concurrency; see `widening`."""
    search = changes.search
    limit = choose_limit(changes.config, search.concurrent, search.open, idle)
    if changes.experiment.state is ExperimentState.ACTIVE and limit is not None and limit != search.limit:
        actions = search.widen(limit)
        changes.journal.widened(limit, actions)
        fill(changes, actions)


def keep_budget(changes: Changes, prices: Prices) -> None:
    """Count held slots at these prices from now on, and stop the trials at a limit of the budget.

    Trials that have not stopped when the limit is used up are killed.
    """
    is_stopping, spending = changes.experiment.state is ExperimentState.STOPPING, changes.search.spending
    if not is_stopping and not changes.is_ongoing:
        return
    for pool in spending.repriced_pools(prices):
        spending.on_price(pool, prices[pool])
        changes.journal.price_changed(pool, prices[pool])
    limit = spending.reached(is_stopping)
    if limit is None:
        return
    changes.journal.limit_reached(is_stopping, limit)
    if is_stopping:
        hurry(changes, DesiredState.KILL)
    else:
        reason = limit_reason(limit, spending.limits, is_used_up=True)
        stop(changes, ExperimentTrigger.COMPLETE, reason, DesiredState.STOP)
