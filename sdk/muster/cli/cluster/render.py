"""Formatting of rented machines, pools of them, and reservations."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muster.cli.base.output import number, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.client.models import InstanceRecord, MachineOffer, MachinePool, Reservation


def pool_facts(found: "MachinePool") -> list[tuple[str, object]]:
    """Describe the machines of a pool; the fault names the machine types that are paused."""
    of = "the provisioner's settings" if found.of_settings else ", ".join(found.kinds)
    order = "as given" if found.order == "given" else "cheapest first"
    most = "" if found.maximum_slots is None else f", at most {found.maximum_slots} slots"
    spot = f"at most {found.spot_share:.0%} of the slots, {found.on_demand_slots} on other machines"
    spent = None if found.spent is None else f"{found.spent:,.2f}"
    budget = "" if found.budget_per_month is None else f" of {found.budget_per_month:,.2f}"
    return [
        (
            "machines",
            f"{found.instances} of {found.minimum} to {found.maximum}{most}"
            + (", closing" if found.closing else ""),
        ),
        ("machine types", f"{of}, {order}"),
        *([("zones", ", ".join(found.zones))] if found.zones else []),
        *([("spot share", spot)] if found.spot_share else []),
        *([("headroom", f"{found.reserve_slots} slots")] if found.reserve_slots else []),
        *([("spent", f"{spent}{budget} this month")] if spent is not None else []),
        *([("problem", found.fault)] if found.fault else []),
    ]


def offers_table(found: "Sequence[MachineOffer]") -> None:
    """Print the machine types that can be rented."""
    columns = ("kind", "provider", "zone", "purchase", ">slots", "gpu", ">price/h", "price date", "paused")
    rows = (
        (
            one.kind, one.provider, one.zone, one.purchase.replace("_", " "), one.slots, one.gpu or one.slot_kind,
            "" if one.price_per_hour is None else number(one.price_per_hour), one.priced_on, one.held,
        )
        for one in found
    )  # fmt: skip
    table(
        columns,
        rows,
        "no machine types: set the catalogue of the provisioner (MUSTER_PROVISIONER__CATALOGUE)",
    )


def machine_summary(one: "MachineOffer | InstanceRecord") -> str:
    """Format a machine as the provisioner does: `spot g5.xlarge in us-east-1a`."""
    spot = "spot " if one.purchase == "spot" else ""
    return f"{spot}{one.kind}" + (f" in {one.zone}" if one.zone else "")


def utc_minute(at: datetime) -> str:
    """Format a time in UTC, to the minute."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def slots_booked(found: "Reservation") -> str:
    """Format the number of slots and their pool."""
    return f"{found.slots} slot{'' if found.slots == 1 else 's'} of pool {found.pool}"


def cancellation_message(found: "Reservation") -> str:
    """Return the message after a reservation was deleted."""
    return f"{slots_booked(found)} {'is' if found.slots == 1 else 'are'} no longer reserved"
