"""Start the search of a submitted experiment."""

from dataclasses import dataclass
from datetime import datetime

from services.searcher.core.budget.limits import limits_of
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import end_rest
from services.searcher.core.reducers.starting import fill
from services.searcher.core.search.prior_observations import NO_PRIOR_OBSERVATIONS, PriorObservations
from shared.tuples import changed


@dataclass(frozen=True, slots=True)
class Submitted:
    """An experiment's submission.

    Attributes:
        prior: Prior observations.
        at: Time of the submission, from which its deadline counts. None: now.
        price: Current price of a slot for an hour.
    """

    prior: PriorObservations = NO_PRIOR_OBSERVATIONS
    at: datetime | None = None
    price: float = 0.0


def on_submission(changes: Changes, submitted: Submitted) -> None:
    """Create the first trials of a new experiment."""
    search, journal = changes.search, changes.journal
    for part in submitted.prior.parts():
        search.add_prior_observations(part)
        journal.warm_started(part)
    changes.is_announced = True
    limits = limits_of(changes.config, submitted.at or changes.now)
    actions = search.start(limits, submitted.price)
    journal.started(limits, submitted.price, actions)
    changes.experiment = changed(
        changes.experiment,
        planned=search.planned() or None,
        priority=changes.config.resources.priority,
    )
    fill(changes, actions)
    end_rest(changes, ())
