"""The timeline of a trial: one row per phase, with a bar below a time axis."""

from collections.abc import Sequence
from datetime import UTC, datetime

from muster._clock import now_ms
from muster.cli.base.output import printable, table
from muster.client.models import Phase, TrialPhases, WaitingUploads

WIDTH = 40
MARKS = 3


def show(found: TrialPhases) -> None:
    """Print the phases, and why uploads wait."""
    if not found.phases:
        table(("phase",), (), "no phases yet")
        return
    present = datetime.fromtimestamp(now_ms() / 1000, UTC)
    began = min(one.began_at for one in found.phases)
    ended = max(one.ended_at or max(present, one.began_at) for one in found.phases)
    columns = (">run", "phase", ">step", "began", ">took", axis(began, ended))
    table(columns, (_row(one, began, ended, present) for one in found.phases), "")
    for image in dict.fromkeys(one.image for one in found.phases if one.image is not None):
        print(printable(f"image: {image}"))
    if found.waiting_uploads:
        print(waiting_message(found.waiting_uploads))


def waiting_message(waiting: WaitingUploads) -> str:
    """Return how many checkpoints wait for upload, since when and why."""
    many = "1 checkpoint waits" if waiting.checkpoints == 1 else f"{waiting.checkpoints} checkpoints wait"
    return f"{many} for upload since {clock(waiting.since)}: {waiting.reason}"


def axis(began: datetime, ended: datetime) -> str:
    """Return the head of the bars: the start, middle and end times."""
    whole = ended - began
    names = [clock(began + whole * part / (MARKS - 1)) for part in range(MARKS)]
    left, middle, right = names
    free = WIDTH - sum(map(len, names))
    return f"{left}{' ' * (free // 2)}{middle}{' ' * (free - free // 2)}{right}"


def bar(one: Phase, began: datetime, ended: datetime, present: datetime) -> str:
    """Draw a phase as a line of blocks, at least one, within the axis."""
    whole = max((ended - began).total_seconds(), 1e-9)
    until = one.ended_at or max(present, one.began_at)
    first = min(WIDTH - 1, int(WIDTH * (one.began_at - began).total_seconds() / whole))
    last = max(first + 1, min(WIDTH, round(WIDTH * (until - began).total_seconds() / whole)))
    return f"{' ' * first}{'█' * (last - first)}{' ' * (WIDTH - last)}"


def clock(at: datetime) -> str:
    """Format the time of day in the local time zone."""
    return f"{at.astimezone():%H:%M:%S}"


def _row(one: Phase, began: datetime, ended: datetime, present: datetime) -> Sequence[object]:
    took = f"{(one.ended_at - one.began_at).total_seconds():,.1f} s" if one.ended_at else "running"
    if one.reason is not None:
        took = "waiting"
    kind = "pulling image" if one.image is not None else one.kind.replace("_", " ")
    name = "  " * bool(one.within) + kind
    return one.run, name, one.step, clock(one.began_at), took, bar(one, began, ended, present)
