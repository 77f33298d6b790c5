"""Divides the usage of experiments among their labels so that the shares add up. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast
from uuid import UUID

from shared.messages.usage import SlotUsageRow, UsageKey as MessageUsageKey

SUMS = ("slot_seconds", "cost", "unpriced_slot_seconds")


class UsageKey(StrEnum):
    """Keys that usage is grouped by."""

    DAY = "day"
    TENANT = "tenant"
    WORKSPACE = "workspace"
    USER = "user"
    EXPERIMENT = "experiment"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class LabelledUsage:
    """Usage of one group: the scheduler's keys and sums, and the label that the gateway adds."""

    used: SlotUsageRow
    label: str | None = None


def keys_of(by: Sequence[UsageKey], is_by_label: bool) -> tuple[MessageUsageKey, ...]:
    """Return the keys to ask the scheduler for. It does not know labels, so grouping by label needs usage by experiment."""
    keys = [key.value for key in by]
    if is_by_label and "experiment" not in keys:
        keys.append("experiment")
    return cast(tuple[MessageUsageKey, ...], tuple(keys))


def by_label(
    used: Iterable[SlotUsageRow], labels: Mapping[UUID, Sequence[str]], by: Sequence[UsageKey]
) -> list[LabelledUsage]:
    """Group usage by the keys and by label; each experiment's usage is split equally among its labels.

    Experiments without labels, or that the caller may not read, come first, under the label None.
    """
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
