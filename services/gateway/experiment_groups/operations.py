"""Count experiments by the values of a field."""

from services.gateway.experiment_groups import store
from services.gateway.experiment_groups.schema import (
    ExperimentGroup,
    ExperimentGroupPage,
    ListExperimentGroupsRequest,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE


async def list_experiment_groups(call: Call, request: ListExperimentGroupsRequest) -> ExperimentGroupPage:
    """List the distinct values of one field among the matching experiments, with counts."""
    met, _ = request.listing.read(request.filter, "")
    position = read_cursor(call, request, request.cursor)
    after = str(position[0]) if position else None
    async with call.read() as connection:
        found = await store.load_groups(
            connection, request.by, met, request.archived, after, request.limit + 1
        )
    page = found[: request.limit]
    items = [ExperimentGroup(value=row.value, count=row.count, states=row.states) for row in page]
    is_last = len(found) == len(page)
    return ExperimentGroupPage(
        items=items, next_cursor=None if is_last else make_cursor(call, request, [items[-1].value])
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListExperimentGroups", "GET", "/v1/experiment-groups", ListExperimentGroupsRequest, ExperimentGroupPage, READ_EXPERIMENT, SAFE, list_experiment_groups),
)
# fmt: on
