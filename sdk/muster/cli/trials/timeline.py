"""A trial's phases along time, for people: one row each, with a bar below an axis of times."""

from collections.abc import Sequence
from datetime import UTC, datetime

from muster._clock import now_ms
from muster.cli.base.output import table
from muster.client.models import Phase, TrialPhases, WaitingUploads

WIDTH = 40
MARKS = 3


def show(found: TrialPhases) -> None:
    """Print the phases, and why uploads wait."""
    if not found.phases:
        table(("phase",), (), "it has only just been made")
        return
    present = datetime.fromtimestamp(now_ms() / 1000, UTC)
    began = min(one.began_at for one in found.phases)
    ended = max(one.ended_at or max(present, one.began_at) for one in found.phases)
    columns = (">run", "phase", ">step", "began", ">took", axis(began, ended))
    table(columns, (_row(one, began, ended, present) for one in found.phases), "")
    if found.waiting_uploads:
        print(waiting_message(found.waiting_uploads))


def waiting_message(waiting: WaitingUploads) -> str:
    """Return how many checkpoints wait for their upload, since when and why."""
    many = "1 checkpoint waits" if waiting.checkpoints == 1 else f"{waiting.checkpoints} checkpoints wait"
    return f"{many} for upload since {clock(waiting.since)}: {waiting.reason}"


def axis(began: datetime, ended: datetime) -> str:
    """Return the head of the bars: the times of day at which they begin, are half over and end."""
    whole = ended - began
    names = [clock(began + whole * part / (MARKS - 1)) for part in range(MARKS)]
    left, middle, right = names
    free = WIDTH - sum(map(len, names))
    return f"{left}{' ' * (free // 2)}{middle}{' ' * (free - free // 2)}{right}"


def bar(one: Phase, began: datetime, ended: datetime, present: datetime) -> str:
    """Return a phase as a line of blocks; at least one, and none behind the end."""
    whole = max((ended - began).total_seconds(), 1e-9)
    until = one.ended_at or max(present, one.began_at)
    first = min(WIDTH - 1, int(WIDTH * (one.began_at - began).total_seconds() / whole))
    last = max(first + 1, min(WIDTH, round(WIDTH * (until - began).total_seconds() / whole)))
    return f"{' ' * first}{'█' * (last - first)}{' ' * (WIDTH - last)}"


def clock(at: datetime) -> str:
    """Return the time of day in the zone of whoever reads it."""
    return f"{at.astimezone():%H:%M:%S}"


def _row(one: Phase, began: datetime, ended: datetime, present: datetime) -> Sequence[object]:
    took = f"{(one.ended_at - one.began_at).total_seconds():,.1f} s" if one.ended_at else "goes on"
    if one.reason is not None:
        took = "waits"
    name = "  " * bool(one.within) + one.kind.replace("_", " ")
    return one.run, name, one.step, clock(one.began_at), took, bar(one, began, ended, present)
