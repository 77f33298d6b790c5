"""Output of `muster queue explain`: why a trial waits, which runs hold its slots, and what would let it start."""

from typing import TYPE_CHECKING

from muster._clock import now_ms
from muster.cli.base.output import facts, slots, table, when

if TYPE_CHECKING:
    from datetime import datetime

    from muster.client.models import Explanation, Holder


def show(found: "Explanation") -> None:
    """Print an explanation, and a table of possible remedies if there are any."""
    facts(
        [
            ("state", found.state),
            ("reason", found.message),
            ("position", found.position),
            ("starts", _starts(found)),
            ("held by", _held_by(found)),
            ("preempted", _preempted(found)),
            ("code", found.code),
        ]
    )
    if found.suggestions:
        print()
        rows = [(one.message, one.command) for one in found.suggestions]
        table(("remedy", "command"), rows, "")


def _starts(found: "Explanation") -> str | None:
    start = found.expected_start
    if start is None:
        return "not known yet" if found.state == "waiting" else None
    return (
        f"in about {_until(start.expected)}; 80% range: {_until(start.earliest)} to {_until(start.latest)}"
        f"\n(estimated from the durations of {start.runs} ended runs; later arrivals are not considered)"
    )


def _until(moment: "datetime") -> str:
    seconds = max(0.0, moment.timestamp() - now_ms() / 1000)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} d"


def _held_by(found: "Explanation") -> str:
    named = [_named(one) for one in found.holders]
    if found.own_runs > len(named):
        named.append(f"{found.own_runs - len(named)} more of yours ({_slots(found.own_slots)})")
    if found.other_runs:
        runs = "1 run" if found.other_runs == 1 else f"{found.other_runs} runs"
        named.append(f"{runs} of other tenants ({_slots(found.other_slots)})")
    return "\n".join(named)


def _named(one: "Holder") -> str:
    on_its_way = ", ending" if one.leaving else ""
    return f"{one.experiment_number}.{one.trial_number} ({_slots(one.slots, one.slot_fraction)}, started {when(one.since)}{on_its_way})"


def _preempted(found: "Explanation") -> str | None:
    back = found.preemption
    return f"run {back.run_number} was preempted {back.message}" if back else None


def _slots(count: int, fraction: float | None = None) -> str:
    return f"{slots(count, fraction=fraction)} slot{'s' * (count != 1)}"
