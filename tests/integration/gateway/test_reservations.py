"""Reservations over the API: booked in the site's name, seen by whom they concern, refused where no window is."""

import asyncio
from typing import Any

import httpx
import pytest

from shared.ids import DEFAULT_TENANT, SITE
from shared.messages.experiments import OperationRefused
from shared.messages.pools import GetCluster
from shared.messages.reservations import (
    CancelReservation,
    GetReservations,
    ReservationList,
    ReservationView,
    ReserveSlots,
)
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.test_experiments import next_command
from tests.integration.gateway.test_pools import ruled
from tests.support.waiting import eventually

WINDOW = {"begins_at": "2126-01-01T08:00:00Z", "ends_at": "2126-01-02T08:00:00Z"}
BODY = {"pool": "default", "slots": 4, "workspace": "vision", **WINDOW}


async def sent(others: Others, kind: type[Any], slots: int | None = None) -> Any:
    """The newest command of this kind; with `slots`, once it books so many."""
    found: list[Any] = []

    async def is_sent() -> bool:
        command = await next_command(others, kind)
        if isinstance(command, kind) and (slots is None or getattr(command, "slots", None) == slots):
            found.append(command)
        return bool(found)

    await eventually(is_sent)
    return found[-1]


async def test_slots_are_booked_listed_and_given_up(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, ruled())
    others.say(GetReservations, ReservationList(items=()))
    asking = asyncio.create_task(
        api.post("/v1/reservations", json=BODY | {"begins_at": "2020-01-01T08:00:00Z"})
    )
    command = await sent(others, ReserveSlots)
    assert (command.tenant, command.workspace, command.slots) == (DEFAULT_TENANT, "vision", 4)
    message = await others.buses["admin"].jetstream.get_last_msg("CMD", ReserveSlots.subject())
    assert (message.headers or {})["Muster-Tenant"] == str(SITE)
    view = ReservationView(**command.model_dump(exclude={"operation_id", "expected_version"}))
    others.say(GetReservations, ReservationList(items=(view,)))
    booked = (await asking).json()
    assert (booked["id"], booked["tenant"], booked["held_slots"]) == (str(view.reservation_id), "default", 0)
    assert "2020-01-01 08:00 UTC, is in the past" in booked["warnings"][0]
    listed = (await api.get("/v1/reservations")).json()["items"]
    assert [one["id"] for one in listed] == [booked["id"]]
    deleting = asyncio.create_task(api.delete(f"/v1/reservations/{booked['id']}"))
    assert (await sent(others, CancelReservation)).reservation_id == view.reservation_id
    others.say(GetReservations, ReservationList(items=()))
    assert (await deleting).json()["id"] == booked["id"]
    assert (await api.delete(f"/v1/reservations/{booked['id']}")).status_code == 404


async def test_what_the_scheduler_refuses_is_told_with_its_reason(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetCluster, ruled())
    others.say(GetReservations, ReservationList(items=()))
    asking = asyncio.create_task(api.post("/v1/reservations", json=BODY | {"slots": 9}))
    command = await sent(others, ReserveSlots, slots=9)
    reason = "pool default cannot reserve 9 slots: it has 2"
    refused = OperationRefused(
        operation_id=command.operation_id, code="reservation_too_large", message=reason
    )
    await others.announce("scheduler", SITE, refused)
    answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (422, "reservation_too_large")
    assert reason in answer.text


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"ends_at": WINDOW["begins_at"]}, "ends_at"),
        ({"begins_at": "2026-01-01T08:00:00Z", "ends_at": "2026-01-02T08:00:00Z"}, "ends_at"),
        ({"slots": 0}, "slots"),
        ({"begins_at": "soon"}, "begins_at"),
    ],
)
async def test_what_is_no_window_is_refused_with_its_place(
    api: httpx.AsyncClient, others: Others, changes: dict[str, Any], place: str
) -> None:
    others.say(GetCluster, ruled())
    refused = await api.post("/v1/reservations", json=BODY | changes)
    assert refused.status_code in (400, 422)
    assert refused.json()["place"] == place
