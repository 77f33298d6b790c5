"""Slots of a pool booked for a window of time."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from services.gateway.pools.schema import PoolName
from shared.filters.fields import Listing


class Reservation(Resource):
    """From `begins_at` on and before `ends_at` these slots serve their holder alone."""

    id: UUID
    pool: str
    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    slots: int
    begins_at: datetime
    ends_at: datetime
    held_slots: int = Field(description="What the holder has of them now, while the window lasts.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just made.")


class ReservationPage(Resource):
    """Reservations that are not over, by their begin."""

    items: list[Reservation]
    next_cursor: str | None = None


class ListReservationsRequest(ListRequest):
    """The reservations that are not over."""

    listing = Listing.of(
        Reservation,
        *("pool", "tenant", "workspace", "slots", "begins_at", "ends_at", "held_slots"),
        usual="begins_at,id",
    )


class ReservationRequest(Request):
    """One reservation by its id."""

    reservation: Reference


class CreateReservationRequest(Request):
    """A window of time (times without a zone are UTC) and how many slots. The same one sent twice is one."""

    pool: PoolName
    slots: Annotated[int, Field(ge=1, le=1_000_000)]
    begins_at: datetime
    ends_at: datetime
    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="By its name; by default the caller's own."
    )
    workspace: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="None: the tenant as a whole."
    )
