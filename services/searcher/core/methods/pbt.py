"""Population-based training: members train side by side; at its marks a member that is among the worst gives way to a copy of one of the best.

Jaderberg et al., "Population Based Training of Neural Networks" (2017), asynchronous, with truncation selection: nobody waits for others;
a member at a mark is held against what has come there so far, itself included. A copy is a new trial that starts from the newest stored
checkpoint of the trial that it copies, with hyperparameters near that one's. Where the paper copies whoever is best, here only one that is as
far and has a checkpoint stored is copied, so that no member goes back; where there is none the member trains on.

With fewer places than members these take turns: at its mark a member pauses for one that waits and has passed fewer, and is held against what
came there meanwhile before it goes on. If it gives way then, its trial stays paused, and ends with the search.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence

from muster.config import Pbt as Config, Point
from services.searcher.core.methods.perturbation import explore
from services.searcher.core.methods.population import (
    WAITING,
    WORST,
    Copy,
    MarkResult,
    MemberState,
    PopulationMember,
)
from services.searcher.core.methods.port import (
    NO_DECISION,
    Branch,
    FixedSizeMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream

UNSAVED_MARKS = 2
"""A trial that has passed so many marks since a checkpoint of it was stored pauses once, which has its script save one."""


class Pbt(FixedSizeMethod):
    """The population; marks are every `interval` of the time metric up to `max_time`, and no member has more trials than marks."""

    def __init__(self, config: Config, domain: Domain, seed: int) -> None:
        self._config, self._domain, self._seed = config, domain, seed
        self._members = [PopulationMember(place) for place in range(config.population_size)]
        self._by_trial: dict[int, PopulationMember] = {}
        self._marks = -(-config.max_time // config.interval)
        self._seen: list[list[MarkResult]] = [[] for _ in range(self._marks)]
        self._places = config.max_concurrent_trials or config.population_size
        self._busy = 0
        self._copies = 0
        self._is_closed = False

    def plan_start(self) -> list[SearchStep]:
        return self._filled()

    def on_created(self, trial: int, branch: Branch) -> float | None:
        member = self._by_trial[trial] = self._members[branch]
        if member.copy is not None and (passed := member.copy.passed) is not None:
            # What it copies has trained on meanwhile.
            member.reach(min(passed, self._marks - 1))
        member.trial, member.trials, member.begun = trial, member.trials + 1, member.passed
        member.origin, member.copy = member.copy, None
        member.values, member.is_stored, member.unsaved = [], False, 0
        return self._time_of(member.passed)

    def on_point(self, trial: int, point: Point) -> None:
        """Learn with which hyperparameters a new trial trains."""
        self._by_trial[trial].point = point

    def awaits(self, trial: int) -> bool:
        """Return whether it is news that a checkpoint of this trial was stored."""
        member = self._by_trial[trial]
        return member.trial == trial and (not member.is_stored or member.unsaved > 0)

    def on_stored(self, trial: int) -> None:
        """Take in that a checkpoint of a trial was stored: it may be copied from now on."""
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
        return RungDecision(counted, stop=False, at_top=False, decide_at=self._time_of(member.passed))

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Fill the place that a paused trial has left."""
        self._by_trial[trial].state = MemberState.WAITS
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Let a copy follow a trial that gave way, and one that was lost before its time: it takes the worst place.

        In the stead of an invalid one comes another of the same origin. One that finished by itself past its last mark but one has had
        its time: perhaps its last result is still under way.
        """
        member = self._by_trial[trial]
        if member.trial != trial:
            return []  # It gave way while it was paused.
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
        self._places = max(self._places, self._busy + count)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Nobody gives way any more, and members whose next trial has not begun stand by."""
        self._is_closed = True
        self._busy -= len(waiting)
        for start in waiting:
            self._members[start.branch].state = MemberState.BEGINS
        return self._filled()

    def reopen(self, planned: int) -> list[SearchStep]:
        """Begin the trials that stood by."""
        self._is_closed = False
        return self._filled()

    def progress(self) -> float:
        """Return the share of the marks that are behind the members."""
        passed = sum(
            self._marks if member.state is MemberState.DONE else member.furthest for member in self._members
        )
        return passed / (self._marks * len(self._members))

    def planned(self) -> int:
        """Return how many trials there are so far, with those decided upon."""
        coming = sum(
            member.state is MemberState.BEGINS or member.copy is not None or member.trials == 0
            for member in self._members
        )
        return coming + sum(member.trials for member in self._members)

    def _judge(self, member: PopulationMember) -> RungDecision:
        is_at_top = member.passed == self._marks
        if is_at_top or self._gives_way(member):
            member.state = MemberState.LEAVES
            return RungDecision(counted=True, stop=True, at_top=is_at_top, decide_at=None)
        if member.unsaved == UNSAVED_MARKS or self._is_waited_for(member):
            member.state = MemberState.LEAVES
            return RungDecision(counted=True, stop=False, at_top=False, decide_at=None, pause=True)
        return RungDecision(counted=True, stop=False, at_top=False, decide_at=self._time_of(member.passed))

    def _gives_way(self, member: PopulationMember) -> bool:
        """Decide upon a copy for a member that is among the worst at its mark, where one of the best there can be copied."""
        seen = self._seen[member.passed - 1]
        is_worst = bisect_left(seen, member.standing) >= len(seen) - self._share(len(seen))
        return is_worst and not self._is_closed and self._copy_one(member, member.passed, member.values[-1])

    def _share(self, count: int) -> int:
        """How many of so many are the best, and as many the worst."""
        return min(math.ceil(round(count * self._config.truncate_fraction, 9)), count // 2)

    def _take_back(self, member: PopulationMember) -> None:
        """Have it be as if the member's invalid trial had never been, and try another point."""
        for seen, value in zip(self._seen[member.begun :], member.values, strict=False):
            seen.remove((value, member.trial))
        member.trials -= 1
        member.passed = member.begun
        if (origin := member.origin) is not None:
            member.copy = self._copied(origin.member, origin.trial, origin.original, self._chance())

    def _copy_one(self, member: PopulationMember, marks: int, value_of_member: float) -> bool:
        """Choose by chance among the best after so many marks, if they are better: of those that train or wait to, and can be copied."""
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
        """Every copy draws from a stream of its own, apart from those of the trials."""
        self._copies += 1
        return Stream(self._seed, -self._copies)

    def _is_waited_for(self, member: PopulationMember) -> bool:
        """Whether more members that are behind this one wait than places are about to come free."""
        waiting = sum(each.passed < member.passed for each in self._waiting())
        return waiting > sum(each.state is MemberState.LEAVES for each in self._members)

    def _waiting(self) -> list[PopulationMember]:
        """Those that want a place; where it is closed, none that would begin."""
        wanted = (MemberState.WAITS,) if self._is_closed else WAITING
        return [member for member in self._members if member.state in wanted]

    def _filled(self) -> list[SearchStep]:
        """Give free places to the members that are least far."""
        steps: list[SearchStep] = []
        for member in sorted(self._waiting(), key=lambda each: (each.passed, each.place)):
            if self._busy >= self._places:
                break
            if member.copy is not None and member.copy.passed == self._marks:
                # What it was to copy has come to its end: nothing is left to train.
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
            return StartTrial(branch=member.place)
        return StartTrial(branch=member.place, point=member.copy.point, source=member.copy.trial)

    def _time_of(self, passed: int) -> float:
        """When the mark after so many is."""
        return float(min((passed + 1) * self._config.interval, self._config.max_time))
