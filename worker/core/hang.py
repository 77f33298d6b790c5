"""Whether a gang hangs: how long its ranks have given no sign of life, and whether any of them moves all the same. Pure.

A rank is not called hung for being slow. When half of the patience is over it is looked at again and again: if the
Python stack of the thread that trains changes, or its processes use a processor, that is a sign of life too.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster.wire.heartbeat import Heartbeat, RankPhase

CHECKS = 12
"""So often is looked while a patience lasts, in its second half."""
CHECKS_WITHOUT_PROGRESS = 3
"""In so many looks in a row nothing has moved, before it is called hung."""
MOVING_ALONE = 0.2
MOVING_IN_GANG = 1.2
"""Who uses more of one core than this computes. A rank that waits for another by Horovod looks for it again and again, and takes a
whole core for that where nobody else wants it."""
GANG_HANGS = "the trial hangs: every worker of its gang has said so (hang_timeout); its log shows where each rank waits"
"""Where ranks seem to have moved a little since this worker said so too."""
LONGEST_END_S = 1800.0
"""So long may processes live whose script is over, whatever moves in them and however patient the config is: they hold their slots."""
TERM_GRACE_S = 2.0
"""So long may ranks that hang live after SIGTERM."""
_NS = 1e9
_HEAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+).*$", re.MULTILINE)
_PARENT = "/muster/runtime/"


@dataclass(frozen=True, slots=True)
class HangTimeouts:
    """How long ranks may be silent: beyond the expected step or after their script, and from `muster.trial()` to the first steps (seconds;
    None = for ever)."""

    hang_s: float | None
    start_s: float | None


@dataclass(frozen=True, slots=True)
class Silence:
    """The last sign of life that was expected of a gang's ranks here was due at `since` (monotonic seconds), at this phase of theirs."""

    since: float
    timeout_s: float
    phase: RankPhase


@dataclass(frozen=True, slots=True)
class RankSample:
    """What is seen of a rank that says nothing: its stack (None: it gave none), and the processor time of its session."""

    stack: str | None
    processor_s: float


@dataclass(frozen=True, slots=True)
class HangEvidence:
    """What looking at silent ranks has shown so far.

    Attributes:
        moved_at: When one of them was last seen to move.
        looked_at: When they were last looked at, and saw `samples`.
        still: Looks since then in which none had moved.
    """

    moved_at: float = float("-inf")
    checked_at: float | None = None
    samples: Mapping[int, RankSample] = field(default_factory=dict)
    unchanged: int = 0


def measure_silence(heartbeats: Iterable[Heartbeat], timeouts: HangTimeouts) -> Silence | None:
    """How long the ranks of this machine are silent; None where nothing is expected of them: none has been heard yet, or one is at
    work that has no steps, for which the others wait. Once one of them steps, all wait for steps: a gang's do so together. Their end is
    waited for once all are at it."""
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
    """Whether it is time to look at the ranks."""
    if now < _quiet_since(silence, evidence) + silence.timeout_s / 2:
        return False
    return evidence.checked_at is None or now >= evidence.checked_at + silence.timeout_s / CHECKS


def on_check(
    evidence: HangEvidence, samples: Mapping[int, RankSample], now: float, moving_processor: float
) -> HangEvidence:
    """The ranks were looked at; the first look shows only where they are. Who used more than `moving_processor` of a core has moved."""
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
    """Whether the patience is over, and nothing has moved; or, of scripts that are over, whether they were for too long."""
    if silence.phase is RankPhase.ENDED and now >= silence.since + LONGEST_END_S:
        return True
    return (
        evidence.unchanged >= CHECKS_WITHOUT_PROGRESS
        and now >= _quiet_since(silence, evidence) + silence.timeout_s
    )


def describe_hang(silence: Silence, now: float) -> str:
    """The reason of such an end."""
    if silence.phase is RankPhase.ENDED:
        return (
            f"the trial's script was over {now - silence.since:.0f} s ago, and its processes have not ended (hang_timeout): they are ended by force; "
            "its log shows where each rank waits"
        )
    if silence.phase is RankPhase.STARTING:
        return (
            f"the trial has made no step within {now - silence.since:.0f} s of its start, and nothing in it moves "
            "(start_timeout); its log shows where each rank waits"
        )
    return (
        f"the trial hangs: its next step is {now - silence.since:.0f} s late, and nothing in it moves (hang_timeout); "
        "its log shows where each rank waits"
    )


def stack_of(dump: str, thread: int) -> str | None:
    """The stack of one thread in what faulthandler wrote, newest call first; the main thread's where that one has ended; None without any.

    What the warm parent called before the script's first line is left out.
    """
    heads = list(_HEAD.finditer(dump))
    if not heads:
        return None
    bounds = [*(head.start() for head in heads[1:]), len(dump)]
    stacks = {int(head[1], 16): dump[head.end() : end] for head, end in zip(heads, bounds, strict=True)}
    lines = stacks.get(thread, dump[heads[-1].end() :]).strip("\n").split("\n")
    return "\n".join(line for line in lines if _PARENT not in line)


def _due_at(heartbeat: Heartbeat) -> float:
    """When the next sign of life was expected; a rank that has ended gives none."""
    return (heartbeat.at_ns + (0 if heartbeat.phase is RankPhase.ENDED else heartbeat.longest_ns)) / _NS


def _quiet_since(silence: Silence, evidence: HangEvidence) -> float:
    return max(silence.since, evidence.moved_at)


def _has_moved(before: RankSample, now: RankSample, moving_s: float) -> bool:
    if before.stack is not None and now.stack is not None and before.stack != now.stack:
        return True
    return now.processor_s - before.processor_s > moving_s
