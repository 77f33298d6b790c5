"""Edits of a running search, and which searches allow which edit."""

from dataclasses import dataclass

from muster.config import Custom, ExperimentConfig, Grid, Single
from muster.config.searchers import MAX_TRIALS
from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class SearchEdit:
    """A change of a search. Fields that are None stay as they are.

    Attributes:
        max_trials: Total number of trials.
        max_concurrent_trials: How many trials may be open at once, at least 1.
        slot_hours, cost, deadline_ms: New limits of the budget; the deadline in milliseconds since 1970.
        lifted: Limits to remove: `slot_hours`, `cost`, `deadline`.
    """

    max_trials: int | None = None
    max_concurrent_trials: int | None = None
    slot_hours: float | None = None
    cost: float | None = None
    deadline_ms: int | None = None
    lifted: tuple[str, ...] = ()

    @property
    def is_of_budget(self) -> bool:
        limits = (self.slot_hours, self.cost, self.deadline_ms)
        return bool(self.lifted) or any(limit is not None for limit in limits)


def check_edit(config: ExperimentConfig, edit: SearchEdit, made: int) -> None:
    """Check that a search which has created `made` trials allows this edit.

    Raises:
        Rejected: The method has no such number, or the search has already created more trials.
    """
    searcher = config.searcher
    for name, value in (
        ("max_trials", edit.max_trials),
        ("max_concurrent_trials", edit.max_concurrent_trials),
    ):
        if value is None:
            continue
        if isinstance(searcher, Single):
            raise _refused(
                "the searcher 'single' runs exactly one trial", name, "pause, finish or cancel the experiment"
            )
        if not 1 <= value <= MAX_TRIALS:
            raise Rejected(
                "invalid_value", f"{name} is {value}, but must be between 1 and {MAX_TRIALS}", name
            )
    if edit.max_trials is None:
        return
    if isinstance(searcher, Grid):
        raise _refused(
            "a grid search runs one trial for each grid point",
            "max_trials",
            "finish the experiment early, or fork it with another grid",
        )
    if isinstance(searcher, Custom):
        raise _refused(
            "the driver program decides how many trials the search runs",
            "max_trials",
            "change the driver program, or finish the experiment early",
        )
    if edit.max_trials < made:
        raise Rejected(
            "too_few_trials",
            f"the search has already created {made} trials, more than {edit.max_trials}",
            "max_trials",
            f"set at least {made}, or finish the search with the best trial so far",
        )


def _refused(message: str, place: str, hint: str) -> Rejected:
    return Rejected("not_editable", message, place, hint)
