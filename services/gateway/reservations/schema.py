"""Requests and responses for slot reservations."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from services.gateway.pools.schema import PoolName
from shared.filters.fields import Listing


class Reservation(Resource):
    """Slots that only their holder can use, from `begins_at` until `ends_at`."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="Null: the holder is the whole tenant.")
    slots: int
    begins_at: datetime
    ends_at: datetime
    held_slots: int = Field(description="Reserved slots that the holder's runs use now, during the window.")
    warnings: list[str] = Field(default=[], description="Warnings about a reservation that was just created.")


class ReservationPage(Resource):
    """A page of current and future reservations, by start time."""

    items: list[Reservation]
    next_cursor: str | None = None


class ListReservationsRequest(ListRequest):
    """The current and future reservations."""

    listing = Listing.of(
        Reservation,
        *("pool", "tenant", "workspace", "slots", "begins_at", "ends_at", "held_slots"),
        usual="begins_at,id",
    )


class ReservationRequest(Request):
    """One reservation by its id."""

    reservation: Reference


class CreateReservationRequest(Request):
    """A time window and a number of slots. Times without a zone are UTC. Sending the same request twice creates one reservation."""

    pool: PoolName
    slots: Annotated[int, Field(ge=1, le=1_000_000)]
    begins_at: datetime
    ends_at: datetime
    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Name of the tenant. Default: the caller's tenant."
    )
    workspace: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Null: the holder is the whole tenant."
    )
