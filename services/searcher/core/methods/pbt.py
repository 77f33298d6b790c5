"""Population-based training: a member among the worst at a mark is replaced by a copy of one of the best.

Jaderberg et al., "Population Based Training of Neural Networks" (2017), asynchronous, with truncation selection: no
member waits for others; a member at a mark is compared with the results seen there so far, its own included. A copy
is a new trial that starts from the newest stored checkpoint of the copied trial with perturbed hyperparameters. The
paper copies any better member; here only a member that is as far and has a stored checkpoint is copied, so that no
member goes back. If there is none, the member trains on.

With less concurrency than members, the members take turns: at its mark a member pauses for a waiting one that has
passed fewer marks, and is compared with the results that arrived meanwhile before it continues. If it is replaced
then, its trial stays paused and ends with the search.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence

from muster.config import Pbt as Config, Point
from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    FixedSizeMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)
from services.searcher.core.methods.perturbation import explore
from services.searcher.core.methods.population import (
    WAITING,
    WORST,
    Copy,
    MarkResult,
    MemberState,
    PopulationMember,
)
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream

UNSAVED_MARKS = 2
"""A trial that has passed this many marks without a stored checkpoint pauses once, so that its script saves one."""


class Pbt(FixedSizeMethod):
    """The population. Marks are every `interval` of the time metric up to `max_time`; no member has more trials than marks."""

    def __init__(self, config: Config, domain: Domain, seed: int) -> None:
        self._config, self._domain, self._seed = config, domain, seed
        self._members = [PopulationMember(index) for index in range(config.population_size)]
        self._by_trial: dict[int, PopulationMember] = {}
        self._marks = -(-config.max_time // config.interval)
        self._seen: list[list[MarkResult]] = [[] for _ in range(self._marks)]
        self._concurrency = config.max_concurrent_trials or config.population_size
        self._busy = 0
        self._copies = 0
        self._is_closed = False

    def plan_start(self) -> list[SearchStep]:
        return self._filled()

    def on_created(self, trial: int, branch: Branch) -> float | None:
        member = self._by_trial[trial] = self._members[branch]
        if member.copy is not None and (passed := member.copy.passed) is not None:
            # The copied trial has trained on meanwhile.
            member.reach(min(passed, self._marks - 1))
        member.trial, member.trials, member.first_mark = trial, member.trials + 1, member.passed
        member.origin, member.copy = member.copy, None
        member.values, member.is_stored, member.unsaved = [], False, 0
        return self._time_of(member.passed)

    def on_point(self, trial: int, point: Point) -> None:
        """Record the hyperparameters of a new trial."""
        self._by_trial[trial].point = point

    def awaits(self, trial: int) -> bool:
        """Return whether a stored checkpoint of this trial matters."""
        member = self._by_trial[trial]
        return member.trial == trial and (not member.is_stored or member.unsaved > 0)

    def on_stored(self, trial: int) -> None:
        """Record that a checkpoint of a trial was stored; from now on the trial may be copied."""
        member = self._by_trial[trial]
        member.is_stored, member.unsaved = True, 0

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Judge the member at the last of the marks that `time` reaches."""
        member = self._by_trial[trial]
        if member.trial != trial or member.state is not MemberState.TRAINS:
            return NO_DECISION
        counted = False
        while member.passed < self._marks and time >= self._time_of(member.passed):
            counted = True
            insort(self._seen[member.passed], (value, trial))
            member.values.append(value)
            member.reach(member.passed + 1)
        member.unsaved += counted
        if counted:
            return self._judge(member)
        return RungDecision(
            counted, stop=False, reached_max_time=False, decide_at=self._time_of(member.passed)
        )

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Use the concurrency that a paused trial has freed."""
        self._by_trial[trial].state = MemberState.WAITS
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Start the copy that replaces a stopped trial, or one that was lost early; the latter ranks worst.

        An invalid trial is replaced by another with the same origin. A trial that finished by itself after its last
        mark but one counts as done, because its last result may still be on its way.
        """
        member = self._by_trial[trial]
        if member.trial != trial:
            return []  # It was replaced while it was paused.
        if member.state is not MemberState.WAITS:
            self._busy -= 1
        marks_left = self._marks - member.passed
        if ending is TrialEnding.INVALID and member.copy is None:
            self._take_back(member)
        elif member.copy is None and marks_left > (1 if ending is TrialEnding.FINISHED else 0):
            insort(self._seen[member.passed], (WORST, trial))
            self._copy_one(member, max(member.passed, 1), WORST)
        is_first = member.passed == 0 and member.trials < self._marks
        is_to_begin = member.copy is not None or is_first
        member.state = MemberState.BEGINS if is_to_begin else MemberState.DONE
        return self._filled()

    def plan_more(self, count: int) -> list[SearchStep]:
        self._concurrency = max(self._concurrency, self._busy + count)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Finish with the trials that exist: no member is replaced any more, and trials that have not started wait."""
        self._is_closed = True
        self._busy -= len(waiting)
        for start in waiting:
            self._members[start.branch].state = MemberState.BEGINS
        return self._filled()

    def reopen(self, planned: int) -> list[SearchStep]:
        """Start the trials that waited."""
        self._is_closed = False
        return self._filled()

    def progress(self) -> float:
        """Return the share of the marks that the members have passed."""
        passed = sum(
            self._marks if member.state is MemberState.DONE else member.furthest for member in self._members
        )
        return passed / (self._marks * len(self._members))

    def planned(self) -> int:
        """Return the number of trials so far, including those decided but not started."""
        coming = sum(
            member.state is MemberState.BEGINS or member.copy is not None or member.trials == 0
            for member in self._members
        )
        return coming + sum(member.trials for member in self._members)

    def _judge(self, member: PopulationMember) -> RungDecision:
        is_at_max = member.passed == self._marks
        if is_at_max or self._gives_way(member):
            member.state = MemberState.LEAVES
            return RungDecision(counted=True, stop=True, reached_max_time=is_at_max, decide_at=None)
        if member.unsaved == UNSAVED_MARKS or self._is_waited_for(member):
            member.state = MemberState.LEAVES
            return RungDecision(counted=True, stop=False, reached_max_time=False, decide_at=None, pause=True)
        return RungDecision(
            counted=True, stop=False, reached_max_time=False, decide_at=self._time_of(member.passed)
        )

    def _gives_way(self, member: PopulationMember) -> bool:
        """Choose a copy for a member among the worst at its mark, if one of the best there can be copied."""
        seen = self._seen[member.passed - 1]
        is_worst = bisect_left(seen, member.last_result) >= len(seen) - self._share(len(seen))
        return is_worst and not self._is_closed and self._copy_one(member, member.passed, member.values[-1])

    def _share(self, count: int) -> int:
        """Return how many of `count` members are the best, and how many the worst."""
        return min(math.ceil(round(count * self._config.truncate_fraction, 9)), count // 2)

    def _take_back(self, member: PopulationMember) -> None:
        """Undo the member's invalid trial and try another point."""
        for seen, value in zip(self._seen[member.first_mark :], member.values, strict=False):
            seen.remove((value, member.trial))
        member.trials -= 1
        member.passed = member.first_mark
        if (origin := member.origin) is not None:
            member.copy = self._copied(origin.member, origin.trial, origin.original, self._chance())

    def _copy_one(self, member: PopulationMember, marks: int, value_of_member: float) -> bool:
        """Choose a random member among the best at that mark that is better, unfinished and can be copied."""
        seen = self._seen[marks - 1]
        found = [
            source
            for value, trial in seen[: max(self._share(len(seen)), 1)]
            if (source := self._by_trial[trial]).trial == trial and source.is_stored
            if source.passed < self._marks and source.state is not MemberState.DONE and source.copy is None
            if source is not member and value < value_of_member
        ]
        if not found or member.trials >= self._marks:
            return False
        chance = self._chance()
        chosen = found[int(chance.random() * len(found))]
        member.copy = self._copied(chosen, chosen.trial, chosen.point, chance)
        member.reach(chosen.passed)
        return True

    def _copied(self, member: PopulationMember, trial: int, original: Point, chance: Stream) -> Copy:
        return Copy(member, trial, original, explore(self._config, self._domain, original, chance))

    def _chance(self) -> Stream:
        """Return a random stream for one copy, separate from those of the trials."""
        self._copies += 1
        return Stream(self._seed, -self._copies)

    def _is_waited_for(self, member: PopulationMember) -> bool:
        """Whether more members with fewer marks wait than trials are about to leave."""
        waiting = sum(each.passed < member.passed for each in self._waiting())
        return waiting > sum(each.state is MemberState.LEAVES for each in self._members)

    def _waiting(self) -> list[PopulationMember]:
        """Members that wait to run; after `close` only paused ones."""
        wanted = (MemberState.WAITS,) if self._is_closed else WAITING
        return [member for member in self._members if member.state in wanted]

    def _filled(self) -> list[SearchStep]:
        """Give free concurrency to the members that have passed the fewest marks."""
        steps: list[SearchStep] = []
        for member in sorted(self._waiting(), key=lambda each: (each.passed, each.index)):
            if self._busy >= self._concurrency:
                break
            if member.copy is not None and member.copy.passed == self._marks:
                # The copied trial has reached its end, so nothing is left to train.
                member.state, member.copy = MemberState.DONE, None
                continue
            self._busy += 1
            steps.append(self._step(member))
            member.state = MemberState.TRAINS
        return steps

    def _step(self, member: PopulationMember) -> SearchStep:
        if member.state is MemberState.WAITS and self._gives_way(member):
            member.trial = 0
        elif member.state is MemberState.WAITS:
            return ResumeTrial(member.trial, self._time_of(member.passed))
        if member.copy is None:
            return StartTrial(branch=member.index)
        return StartTrial(branch=member.index, point=member.copy.point, source=member.copy.trial)

    def _time_of(self, passed: int) -> float:
        """Return the time of the mark after so many."""
        return float(min((passed + 1) * self._config.interval, self._config.max_time))
