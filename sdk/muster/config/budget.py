"""`budget` of the config: the total that a search may use."""

import re
from datetime import UTC, datetime, timedelta

from pydantic import Field, field_validator

from muster.config.base_section import Section, refusal, rule

_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)")
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_RAISE = "raise the budget, or train each trial for less time and lower trial_s"
_MOST_S = 10 * 366 * 86_400

When = datetime | timedelta
"""A deadline: a time, or a duration after the submission."""


class Budget(Section):
    """The total that a search may use. The search plans within it, never exceeds it, and ends with its best result when it is used up.

    Attributes:
        slot_hours: Slots times the hours for which runs hold them.
        cost: Cost of these slot-hours at the pool's price per slot; slots without a price are free.
        deadline: A time with a time zone (`2026-12-24T18:00Z`), or a duration after the submission (`90m`, `36h`, `2d`).
        trial_s: Duration of a complete trial in seconds, if you know it; otherwise it is measured.
    """

    slot_hours: float | None = Field(default=None, gt=0, le=1e9)
    cost: float | None = Field(default=None, gt=0, le=1e12)
    deadline: str | None = Field(default=None, max_length=64)
    trial_s: float | None = Field(default=None, gt=0, le=_MOST_S)

    @field_validator("deadline")
    @classmethod
    def _is_a_deadline(cls, deadline: str | None) -> str | None:
        if deadline is not None:
            read_deadline(deadline)
        return deadline

    @rule
    def _has_a_limit(self) -> None:
        if self.slot_hours is None and self.cost is None and self.deadline is None:
            raise refusal("a budget needs at least one of slot_hours, cost and deadline")

    def deadline_at(self, submitted: datetime) -> datetime | None:
        """Return the deadline of a search submitted at that time; None if it has none."""
        return None if self.deadline is None else deadline_at(self.deadline, submitted)

    def check_trial(self, slots: float) -> None:
        """Raise a refusal if a single trial with this number of slots would exceed the budget, as far as `trial_s` is known."""
        if self.trial_s is None:
            return
        hours = self.trial_s * slots / 3600
        if self.slot_hours is not None and hours > self.slot_hours:
            raise refusal(
                f"one trial takes {hours:g} slot-hours, more than the budget's {self.slot_hours:g}",
                "budget", "slot_hours", hint=_RAISE,
            )  # fmt: skip
        when = None if self.deadline is None else read_deadline(self.deadline)
        if isinstance(when, timedelta) and self.trial_s > when.total_seconds():
            raise refusal(
                f"one trial takes {self.trial_s:g} s, longer than the deadline's {self.deadline}",
                "budget", "deadline", hint=_RAISE,
            )  # fmt: skip


def deadline_at(text: str, submitted: datetime) -> datetime:
    """Return the time of a deadline for a submission at that time."""
    when = read_deadline(text)
    return submitted + when if isinstance(when, timedelta) else when


def read_deadline(text: str) -> When:
    """Parse a deadline; raise the section's refusal if it is invalid."""
    if (span := _SPAN.fullmatch(text)) is not None:
        seconds = float(span[1]) * _UNITS_S[span[2]]
        if not 0 < seconds <= _MOST_S:
            raise refusal("a deadline must be within the next ten years")
        return timedelta(seconds=seconds)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise refusal(
            f"{text!r} is not a deadline",
            hint="write a time with a time zone (2026-12-24T18:00Z) or a duration (90m, 36h, 2d)",
        )
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise refusal("a deadline must be within the next ten years") from None
