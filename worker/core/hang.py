"""Hang detection: how long ranks have sent no heartbeat, and whether any of them still makes progress. Pure.

Slow ranks are not hung. When half of the timeout has passed, the worker samples silent ranks repeatedly: a changed Python stack of the
training thread, or CPU use of the rank's processes, counts as progress.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster.wire.heartbeat import Heartbeat, RankPhase

CHECKS = 12
"""Number of checks per timeout; they run in its second half."""
CHECKS_WITHOUT_PROGRESS = 3
"""Number of checks in a row without progress before a gang counts as hung."""
MOVING_ALONE = 0.2
MOVING_IN_GANG = 1.2
"""CPU use, in cores, above which a rank counts as computing. A rank that waits for another one through Horovod polls, and takes
a whole core for it if the core is idle."""
GANG_HANGS = "the trial hangs: every worker of its gang reported it (hang_timeout); see the stacks of all ranks in its log"
"""The reason if the local ranks seem to have made progress since this worker reported the hang."""
LONGEST_END_S = 1800.0
"""Maximum time that processes may outlive the end of their script, independent of their activity and the config: they hold their slots."""
TERM_GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL for hung ranks."""
_NS = 1e9
_HEAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+).*$", re.MULTILINE)
_PARENT = "/muster/runtime/"


@dataclass(frozen=True, slots=True)
class HangTimeouts:
    """How long ranks may be silent: after the expected end of a step or after their script, and from `muster.trial()` to the first step (seconds;
    None: no limit)."""

    hang_s: float | None
    start_s: float | None


@dataclass(frozen=True, slots=True)
class Silence:
    """The ranks on this worker are silent: their last heartbeat was due at `since` (monotonic seconds), in this phase."""

    since: float
    timeout_s: float
    phase: RankPhase


@dataclass(frozen=True, slots=True)
class RankSample:
    """A sample of a silent rank: its stack (None: not available), and the CPU time of its session."""

    stack: str | None
    processor_s: float


@dataclass(frozen=True, slots=True)
class HangEvidence:
    """The result of the checks so far.

    Attributes:
        moved_at: When a rank last made progress.
        checked_at: When the ranks were last sampled, into `samples`.
        unchanged: Number of checks since then without progress.
    """

    moved_at: float = float("-inf")
    checked_at: float | None = None
    samples: Mapping[int, RankSample] = field(default_factory=dict)
    unchanged: int = 0


def measure_silence(heartbeats: Iterable[Heartbeat], timeouts: HangTimeouts) -> Silence | None:
    """Return how long the ranks on this worker are silent. Return None if no heartbeat is expected: no rank has sent one yet, or one is
    busy outside of steps and the others wait for it. Once one rank steps, all are expected to: a gang steps together. The end of the
    script is awaited once all ranks have reached it."""
    reported = [heartbeat for heartbeat in heartbeats if heartbeat.phase is not RankPhase.ABSENT]
    phases = {heartbeat.phase for heartbeat in reported}
    if not reported or RankPhase.BUSY in phases:
        return None
    phase = next(one for one in (RankPhase.STEPPING, RankPhase.STARTING, RankPhase.ENDED) if one in phases)
    timeout_s = timeouts.start_s if phase is RankPhase.STARTING else timeouts.hang_s
    if phase is RankPhase.ENDED:
        timeout_s = min(timeout_s or LONGEST_END_S, LONGEST_END_S)
    if timeout_s is None:
        return None
    return Silence(max(map(_due_at, reported)), timeout_s, phase)


def is_check_due(silence: Silence, evidence: HangEvidence, now: float) -> bool:
    """Whether it is time to sample the ranks."""
    if now < _quiet_since(silence, evidence) + silence.timeout_s / 2:
        return False
    return evidence.checked_at is None or now >= evidence.checked_at + silence.timeout_s / CHECKS


def on_check(
    evidence: HangEvidence, samples: Mapping[int, RankSample], now: float, moving_processor: float
) -> HangEvidence:
    """Record a sample; the first one is only the reference. A rank that used more than `moving_processor` cores made progress."""
    if evidence.checked_at is None:
        return replace(evidence, checked_at=now, samples=samples)
    passed_s = now - evidence.checked_at
    has_moved = any(
        _has_moved(evidence.samples[rank], sample, passed_s * moving_processor)
        for rank, sample in samples.items()
        if rank in evidence.samples
    )
    return HangEvidence(
        now if has_moved else evidence.moved_at, now, samples, 0 if has_moved else evidence.unchanged + 1
    )


def is_hung(silence: Silence, evidence: HangEvidence, now: float) -> bool:
    """Whether the timeout has passed without progress, or the scripts ended too long ago."""
    if silence.phase is RankPhase.ENDED and now >= silence.since + LONGEST_END_S:
        return True
    return (
        evidence.unchanged >= CHECKS_WITHOUT_PROGRESS
        and now >= _quiet_since(silence, evidence) + silence.timeout_s
    )


def describe_hang(silence: Silence, now: float) -> str:
    """Return the reason for ending a hung trial."""
    if silence.phase is RankPhase.ENDED:
        return (
            f"the trial's script ended {now - silence.since:.0f} s ago, but its processes still run (hang_timeout): the worker kills them; "
            "see the stacks of all ranks in its log"
        )
    if silence.phase is RankPhase.STARTING:
        return (
            f"the trial made no step within {now - silence.since:.0f} s of its start and shows no activity "
            "(start_timeout); see the stacks of all ranks in its log"
        )
    return (
        f"the trial hangs: its next step is {now - silence.since:.0f} s late and it shows no activity (hang_timeout); "
        "see the stacks of all ranks in its log"
    )


def stack_of(dump: str, thread: int) -> str | None:
    """Return the stack of one thread from a faulthandler dump, newest call first; the main thread's if that thread has ended; None without any.

    Calls of the warm parent before the script's first line are left out.
    """
    heads = list(_HEAD.finditer(dump))
    if not heads:
        return None
    bounds = [*(head.start() for head in heads[1:]), len(dump)]
    stacks = {int(head[1], 16): dump[head.end() : end] for head, end in zip(heads, bounds, strict=True)}
    lines = stacks.get(thread, dump[heads[-1].end() :]).strip("\n").split("\n")
    return "\n".join(line for line in lines if _PARENT not in line)


def _due_at(heartbeat: Heartbeat) -> float:
    """Return when the next heartbeat was due; a rank that has ended sends none."""
    return (heartbeat.at_ns + (0 if heartbeat.phase is RankPhase.ENDED else heartbeat.longest_ns)) / _NS


def _quiet_since(silence: Silence, evidence: HangEvidence) -> float:
    return max(silence.since, evidence.moved_at)


def _has_moved(before: RankSample, now: RankSample, moving_s: float) -> bool:
    if before.stack is not None and now.stack is not None and before.stack != now.stack:
        return True
    return now.processor_s - before.processor_s > moving_s
