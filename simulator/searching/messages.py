"""Reports to the searcher about trials, in addition to the scheduler's facts, and its verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.scheduler.core.state.records.run import Run
from services.searcher.core.reducers.changes import VerdictKind


@dataclass(frozen=True, slots=True)
class Stored:
    """`validation.stored`; `number` counts a run's validations from 1."""

    run: Run
    number: int
    step: int
    values: Mapping[str, float]
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """`checkpoint.saved`, or `checkpoint.abandoned` if it is not good."""

    run: Run
    number: int
    step: int
    is_good: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The immediate answer to a validation, for the ranks that wait for it."""

    run: Run
    validation: int
    word: VerdictKind
    decide_at: float | None
