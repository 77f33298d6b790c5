"""Copy the budget of a search into its experiment's record."""

from services.searcher.core.budget.ledger import HOUR_MS
from services.searcher.core.budget.limits import from_millis
from services.searcher.core.experiment.entities import ExperimentRecord
from services.searcher.core.experiment.states import ExperimentState
from services.searcher.core.search.search import Search
from shared.tuples import changed


def with_budget_status(experiment: ExperimentRecord, search: Search) -> ExperimentRecord:
    """Return the experiment with its limits, its usage, the number of trials they allow, and the time of the next check."""
    spending = search.spending
    if not spending.is_counting:
        return experiment
    limits, used = spending.limits, spending.used
    status = changed(
        experiment.limits,
        slot_hours=limits.slot_hours,
        cost=limits.cost,
        deadline=None if limits.deadline_ms is None else from_millis(limits.deadline_ms),
        used_slot_hours=used.slot_ms / HOUR_MS,
        used_cost=used.cost,
    )
    is_stopping = experiment.state is ExperimentState.STOPPING
    due_ms = None if experiment.is_final else spending.due_ms(is_stopping)
    planned = search.planned() if search.closed else experiment.planned
    due_at = None if due_ms is None else from_millis(due_ms)
    return changed(experiment, limits=status, planned=planned, due_at=due_at)
