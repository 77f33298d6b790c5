"""Usage by label: what the scheduler tells of experiments, divided among their labels so that the parts add up. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast
from uuid import UUID

from shared.messages.usage import SlotUsageRow, UsageKey as ToldKey

SUMS = ("slot_seconds", "cost", "unpriced_slot_seconds")


class UsageKey(StrEnum):
    """What usage is added up by."""

    DAY = "day"
    TENANT = "tenant"
    WORKSPACE = "workspace"
    USER = "user"
    EXPERIMENT = "experiment"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class LabelledUsage:
    """What was used by one of each key; the label is ours, the rest the scheduler's."""

    used: SlotUsageRow
    label: str | None = None


def keys_of(by: Sequence[UsageKey], is_by_label: bool) -> tuple[ToldKey, ...]:
    """What the scheduler is asked for: labels are not known to it, experiments are."""
    keys = [key.value for key in by]
    if is_by_label and "experiment" not in keys:
        keys.append("experiment")
    return cast(tuple[ToldKey, ...], tuple(keys))


def by_label(
    used: Iterable[SlotUsageRow], labels: Mapping[UUID, Sequence[str]], by: Sequence[UsageKey]
) -> list[LabelledUsage]:
    """Adds up by the keys and by label, each experiment in equal parts under its labels; what has none, or is not seen, stands under None, first."""
    hidden = {} if UsageKey.EXPERIMENT in by else {"experiment": None}
    sums: dict[tuple[object, ...], LabelledUsage] = {}
    for one in used:
        names: Sequence[str | None] = labels.get(one.experiment, ()) if one.experiment else ()
        names = names or (None,)
        for label in names:
            key = (*(getattr(one, name) for name in by), label)
            before = sums.get(key)
            shares = {name: getattr(one, name) / len(names) for name in SUMS}
            if before is not None:
                shares = {name: share + getattr(before.used, name) for name, share in shares.items()}
            sums[key] = LabelledUsage(one.model_copy(update=shares | hidden), label)
    return [sums[key] for key in sorted(sums, key=_in_order)]


def _in_order(key: tuple[object, ...]) -> tuple[tuple[bool, str], ...]:
    return tuple((value is not None, str(value)) for value in key)
