"""Invariants of searches, checked after each decision. The halving rule is implemented here a second time,
independently."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

from muster.config import AdaptiveAsha, AsyncHalving
from services.scheduler.core.state.records.run import Run
from services.searcher.core.experiment.entities import TrialRecord, trial_id
from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import replay
from services.searcher.core.reducers.changes import Decision
from shared.ids import ExperimentId, TrialId
from simulator.experiments.submission import Submission
from simulator.observers.invariant import Invariant


class OneVerdictEach(Invariant):
    """A validation is judged once, a rung decides once per trial (a restarted run passes it without a verdict),
    and a stopped trial is not judged again."""

    rule = "each verdict once"

    def __init__(self) -> None:
        self._asked: set[tuple[ExperimentId, int, int, int]] = set()
        self._due: dict[tuple[ExperimentId, int], float] = {}

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        experiment = decision.experiment.id
        for judged in decision.judged:
            key = (experiment, judged.trial, judged.run, judged.validation)
            if key in self._asked:
                raise self.broken(f"validation {judged.validation} of trial {judged.trial} was judged twice")
            self._asked.add(key)
        for trial, decide_at in _created(decision):
            self._due[experiment, trial] = inf if decide_at is None else decide_at
        for entry in decision.entries:
            for trial, decide_at in _listed(entry, "resumed"):
                self._due[experiment, trial] = inf if decide_at is None else decide_at
            if entry.kind == "judged":
                trial, time, due = _whole(entry, "trial"), _number(entry, "time"), self._due
                if time < due[experiment, trial]:
                    raise self.broken(f"trial {trial} was judged at {time}, before {due[experiment, trial]}")
                due[experiment, trial] = inf if entry.facts["stop"] else _number(entry, "decide_at", inf)


class NoStaleVerdict(Invariant):
    """A validation that the registry has stored as stale is not judged and not answered."""

    rule = "no stale validation judged"

    def __init__(self) -> None:
        self._stale: set[tuple[TrialId, int, int]] = set()

    def on_stored(self, run: Run, validation: int, is_stale: bool) -> None:
        if is_stale:
            self._stale.add((run.trial, run.number, validation))

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        answered = [(one.trial, one.run, one.validation) for one in decision.judged]
        judged = [
            (_whole(entry, "trial"), _whole(entry, "run"), _whole(entry, "validation"))
            for entry in decision.entries
            if entry.kind == "judged"
        ]
        for trial, run, validation in (*answered, *judged):
            if (trial_id(decision.experiment.id, trial), run, validation) in self._stale:
                raise self.broken(f"validation {validation} of run {run} of trial {trial} was judged")


class KeptConcurrency(Invariant):
    """The number of open trials never exceeds the limit of the config or of a later edit, and a completed
    search has created all planned trials."""

    rule = "max_concurrent_trials kept, and every planned trial made"

    def __init__(self) -> None:
        self._open: dict[ExperimentId, set[int]] = {}
        self._made: dict[ExperimentId, int] = {}
        self._most: dict[ExperimentId, float] = {}

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        experiment, searcher = decision.experiment, submission.config.searcher
        open_ = self._open.setdefault(experiment.id, set())
        before = len(open_)
        for trial in decision.trials.values():
            # A trial parked by a user leaves the count: its request is closed until it is resumed.
            has_left = trial.closed is not None or (
                trial.is_paused_by_search and trial.state is TrialState.PARKED
            )
            (open_.discard if has_left else open_.add)(trial.number)
        made = self._made[experiment.id] = max([self._made.get(experiment.id, 0), *decision.trials])
        asked = getattr(searcher, "max_concurrent_trials", 1) or inf
        edited = [entry.facts["changes"] for entry in decision.entries if entry.kind == "edited"]
        for changes in edited:
            assert isinstance(changes, dict)
            if isinstance(changed := changes.get("max_concurrent_trials"), int):
                self._most[experiment.id] = changed
        most = self._most.get(experiment.id, asked)
        # Open trials stay when the limit is lowered.
        if len(open_) > max(most, before):
            raise self.broken(
                f"experiment {experiment.number} has {len(open_)} trials open, of at most {most}"
            )
        is_finished_early = experiment.outcome is not None
        if (
            experiment.state is ExperimentState.COMPLETED
            and not is_finished_early
            and made != experiment.planned
        ):
            raise self.broken(
                f"experiment {experiment.number} has made {made} of {experiment.planned} trials"
            )


@dataclass(slots=True)
class _Cohort:
    """The trials of one bracket: the values at each rung, by its time."""

    seen: dict[int, list[float]]


@dataclass(slots=True)
class _Course:
    """The rule's decisions about a trial so far."""

    cohort: _Cohort | None
    rungs: list[int]
    is_stopped: bool = False
    reached_max_time: bool = False


class HalvingRule(Invariant):
    """With early stopping, a trial continues past a rung while it is among the best 1/divisor of the trials
    seen there so far, including itself. A failed trial ranks last. The search's decisions and the ends of its
    trials must match this rule."""

    rule = "closed trials agree with the rule"

    def __init__(self) -> None:
        self._cohorts: dict[tuple[ExperimentId, float], _Cohort] = {}
        self._courses: dict[tuple[ExperimentId, int], _Course] = {}
        self._hurried: set[ExperimentId] = set()

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        searcher = submission.config.searcher
        if not isinstance(searcher, AsyncHalving | AdaptiveAsha) or not searcher.stop_once:
            return
        experiment = decision.experiment.id
        for entry in decision.entries:
            if entry.kind == "judged":
                course = self._courses[experiment, _whole(entry, "trial")]
                self._judge(submission, course, entry, 2 if experiment in self._hurried else inf)
            elif entry.kind == "ended" and entry.facts["ending"] != "finished":
                course = self._courses[experiment, _whole(entry, "trial")]
                if not course.is_stopped and course.cohort is not None:
                    course.cohort.seen[course.rungs.pop(0)].append(inf)
                    course.rungs.clear()
            if "closed" in entry.facts:
                self._hurried.add(experiment)
            elif entry.kind == "edited":
                self._hurried.discard(experiment)
            for trial, first in _created_by(entry):
                self._courses[experiment, trial] = self._course(experiment, searcher, first)
        for number, ended in decision.trials.items():
            self._check_end(ended, self._courses[experiment, number])

    def _course(
        self, experiment: ExperimentId, searcher: AsyncHalving | AdaptiveAsha, first: float | None
    ) -> _Course:
        """Derive the bracket of a trial from its first rung, if no two brackets start with the same one."""
        most = (
            searcher.num_rungs
            if isinstance(searcher, AsyncHalving)
            else max(searcher.max_rungs, *searcher.bracket_rungs, 1)
        )
        ladder = [max(int(searcher.max_time / Fraction(searcher.divisor) ** k), 1) for k in range(most)]
        if isinstance(searcher, AsyncHalving):
            rungs = ladder[::-1]
        elif (
            first is None
            or ladder.count(int(first)) != 1
            or len(set(searcher.bracket_rungs)) < len(searcher.bracket_rungs)
        ):
            return _Course(None, [])
        else:
            rungs = ladder[ladder.index(int(first)) :: -1]
        key = (experiment, float(rungs[0]))
        cohort = self._cohorts.setdefault(key, _Cohort({rung: [] for rung in rungs}))
        return _Course(cohort, rungs)

    def _judge(self, submission: Submission, course: _Course, entry: Entry, most: float) -> None:
        """Apply the rule; at least one in `most` continues if the search's divisor is higher, because its
        budget allows no more trials."""
        divisor = getattr(submission.config.searcher, "divisor", inf)
        if course.cohort is None:
            course.is_stopped, course.reached_max_time = (
                bool(entry.facts["stop"]),
                bool(entry.facts["reached_max_time"]),
            )
            return
        value = _number(entry, "value", inf)
        rank = value if submission.config.searcher.smaller_is_better or not isfinite(value) else -value
        while course.rungs and _number(entry, "time") >= course.rungs[0] and not course.is_stopped:
            seen = course.cohort.seen[course.rungs[0]]
            seen.append(rank)
            better = sum(other < rank for other in seen)
            course.reached_max_time = len(course.rungs) == 1
            kept = int(len(seen) / Fraction(divisor))
            course.is_stopped = course.reached_max_time or better >= max(kept, int(len(seen) / most), 1)
            if not course.is_stopped:
                course.rungs.pop(0)
        decided = (entry.facts["stop"], entry.facts["reached_max_time"])
        if decided != (course.is_stopped, course.is_stopped and course.reached_max_time):
            raise self.broken(
                f"the search decided {decided} for trial {entry.facts['trial']} at {entry.facts['time']}"
            )

    def _check_end(self, trial: TrialRecord, course: _Course) -> None:
        if not trial.is_final or not course.is_stopped:
            return
        expected = TrialState.COMPLETED if course.reached_max_time else TrialState.STOPPED
        if trial.state is not expected:
            raise self.broken(
                f"trial {trial.number} ended as {trial.state}, but the rule requires {expected}"
            )


class JournalRepeats(Invariant):
    """A search that is rebuilt from its journal makes the same decisions, from the first entry to the last."""

    rule = "a journal repeats its search"

    def __init__(self) -> None:
        self._entries: dict[ExperimentId, list[Entry]] = {}

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        entries = self._entries.setdefault(decision.experiment.id, [])
        entries += decision.entries
        if [entry.position for entry in entries] != list(range(1, len(entries) + 1)):
            raise self.broken(f"the journal of experiment {decision.experiment.number} has a gap")
        if decision.experiment.is_final and decision.entries:
            difference = replay(submission.config, submission.search_seed, entries)
            if difference is not None:
                raise self.broken(f"the replay differs at {difference}")


def _created(decision: Decision) -> list[tuple[int, float | None]]:
    return [made for entry in decision.entries for made in _created_by(entry)]


def _created_by(entry: Entry) -> list[tuple[int, float | None]]:
    """Return the trials created with this entry, and the time of their first decision."""
    return _listed(entry, "created")


def _listed(entry: Entry, key: str) -> list[tuple[int, float | None]]:
    listed = entry.facts.get(key, [])
    assert isinstance(listed, list)
    made: list[tuple[int, float | None]] = []
    for one in listed:
        assert isinstance(one, dict)
        trial, decide_at = one["trial"], one["decide_at"]
        assert isinstance(trial, int)
        assert isinstance(decide_at, int | float | None)
        made.append((trial, decide_at))
    return made


def _whole(entry: Entry, key: str) -> int:
    value = entry.facts[key]
    assert isinstance(value, int)
    return value


def _number(entry: Entry, key: str, absent: float = 0.0) -> float:
    value = entry.facts[key]
    return float(value) if isinstance(value, int | float) else absent
