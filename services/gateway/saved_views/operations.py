"""Operations on saved views: named dashboard addresses, private to the user who saved them."""

from muster.errors import Conflict, NotFound
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import requester_of
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, SAFE
from services.gateway.platform.schema import Done, Empty
from services.gateway.saved_views import store
from services.gateway.saved_views.schema import (
    MOST_VIEWS,
    SavedView,
    SavedViews,
    SaveViewRequest,
    ViewRequest,
)


async def list_views(call: Call, _: Empty) -> SavedViews:
    """List the caller's saved views, by name."""
    async with call.read() as connection:
        rows = await store.load_views(connection, requester_of(call))
    return SavedViews(items=[SavedView.model_validate(row._mapping) for row in rows])


async def save_view(call: Call, request: SaveViewRequest) -> SavedView:
    """Save a view for the caller. It replaces the caller's view of the same name."""
    owner = requester_of(call)
    async with call.transaction() as unit:
        others = {row.name for row in await store.load_views(unit.connection, owner)} - {request.name}
        if len(others) >= MOST_VIEWS:
            raise Conflict(
                "too_many_views",
                f"you have {len(others)} saved views; the maximum is {MOST_VIEWS}",
                hint="delete one that you do not use",
            )
        saved = SavedView(name=request.name, address=request.address, saved_at=unit.now)
        values = saved.model_dump() | {"tenant": call.tenant, "owner": owner}
        await store.save_view(unit.connection, values)
        call.set_audit_fields(after=saved, entity=f"view/{request.name}")
    return saved


async def delete_view(call: Call, request: ViewRequest) -> Done:
    """Delete one of the caller's saved views."""
    async with call.transaction() as unit:
        row = await store.delete_view(unit.connection, requester_of(call), request.view)
        if row is None:
            raise NotFound(f"view {request.view}", "`muster view list` lists your views")
        call.set_audit_fields(before=SavedView.model_validate(row._mapping))
    return Done()


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListViews", "GET", "/v1/views", Empty, SavedViews, Permission.SELF, SAFE, list_views),
    Operation("SaveView", "PUT", "/v1/views", SaveViewRequest, SavedView, Permission.SELF, NATURAL, save_view),
    Operation("DeleteView", "DELETE", "/v1/views/{view}", ViewRequest, Done, Permission.SELF, NATURAL, delete_view),
)
# fmt: on
