"""What people change about a search that runs, and what can be changed of which."""

from dataclasses import dataclass

from muster.config import Custom, ExperimentConfig, Grid, Single
from muster.config.searchers import MAX_TRIALS
from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class SearchEdit:
    """A change of a search; what is None stays.

    Attributes:
        max_trials: How many trials it makes in all.
        max_concurrent_trials: How many may be open at once, 1 or more.
        slot_hours, cost, deadline_ms: New limits of its budget; the deadline in milliseconds since 1970.
        lifted: Limits that are taken away: `slot_hours`, `cost`, `deadline`.
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
    """Whether a search that has made so many trials can be changed so.

    Raises:
        Rejected: its method has no such number, or more trials are made already.
    """
    searcher = config.searcher
    for name, value in (
        ("max_trials", edit.max_trials),
        ("max_concurrent_trials", edit.max_concurrent_trials),
    ):
        if value is None:
            continue
        if isinstance(searcher, Single):
            raise _refused("a single training has one trial", name, "pause, finish or cancel it")
        if not 1 <= value <= MAX_TRIALS:
            raise Rejected("invalid_value", f"{name} must be from 1 to {MAX_TRIALS}", name)
    if edit.max_trials is None:
        return
    if isinstance(searcher, Grid):
        raise _refused("the points of a grid are its trials", "max_trials", "finish it early, or fork it")
    if isinstance(searcher, Custom):
        raise _refused(
            "its program decides how many trials there are",
            "max_trials",
            "tell the program, or finish it early",
        )
    if edit.max_trials < made:
        raise Rejected(
            "too_few_trials",
            f"{made} trials are made already, more than {edit.max_trials}",
            "max_trials",
            f"give at least {made}, or finish the search with the best so far",
        )


def _refused(message: str, place: str, hint: str) -> Rejected:
    return Rejected("not_editable", message, place, hint)
