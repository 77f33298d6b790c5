"""Pools of rented machines, as people define them."""

from typing import Literal

from pydantic import Field

from shared.messages.base import Record


class PoolDefinition(Record):
    """What machines a pool may rent, and how many.

    Attributes:
        kinds: Of the catalogue, and `zones` of theirs (empty: all of them), in the order in which they are preferred with `order: given`.
        minimum, maximum: Machines; `maximum_slots`: also bounds them by slots.
        reserve_slots: Kept idle for what may come.
        spot_share: At most this share of the slots is on spot machines, and at least `on_demand_slots` are not. `falls_back`: others are taken
            where spot machines are not to be had.
        idle_timeout_s: A machine that was idle for so long goes; `join_timeout_s`: one that has not joined by then is given up.
        budget_per_month: Money, from the first of each month in UTC: no machine is launched that could pass it within the hour.
    """

    kinds: tuple[str, ...]
    zones: tuple[str, ...] = ()
    order: Literal["cheapest", "given"] = "cheapest"
    minimum: int = Field(0, ge=0, le=10_000)
    maximum: int = Field(ge=0, le=10_000)
    maximum_slots: int | None = Field(None, ge=0)
    reserve_slots: int = Field(0, ge=0)
    spot_share: float = Field(0.0, ge=0, le=1)
    on_demand_slots: int = Field(0, ge=0)
    falls_back: bool = True
    idle_timeout_s: float = Field(300.0, gt=0)
    join_timeout_s: float = Field(1200.0, gt=0)
    budget_per_month: float | None = Field(None, gt=0)
    labels: dict[str, str] = Field(default_factory=dict)
