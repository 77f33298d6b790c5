"""Operations on the table of an experiment's trials. The gateway checks access; the registry answers."""

from services.gateway.experiments.find import find_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import make_cursor, read_cursor
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import READ_EXPERIMENT, SAFE
from services.gateway.trial_tables.config_columns import declared_by
from services.gateway.trial_tables.schema import (
    TableColumns,
    TableColumnsRequest,
    TableRow,
    TrialTable,
    TrialTableRequest,
)
from shared.ids import ExperimentId
from shared.messages.trial_tables import GetColumns, GetTable


async def list_trial_table(call: Call, request: TrialTableRequest) -> TrialTable:
    """List an experiment's trials as a table with any metrics and hyperparameters as columns, filtered and sorted."""
    position = read_cursor(call, request, request.cursor)
    experiment = await find_experiment(call, request.experiment)
    question = GetTable(
        experiment_id=ExperimentId(experiment.id),
        filter=request.filter,
        sort=request.sort,
        columns=tuple(request.column),
        after=tuple(None if cell is None else str(cell) for cell in position) if position else None,
        limit=request.limit,
        declared=declared_by(experiment),
    )
    page = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    items = [
        TableRow(
            trial=row.trial_id,
            experiment_number=experiment.number,
            number=row.number,
            state=row.state,
            values=dict(zip(page.columns, row.cells, strict=True)),
        )
        for row in page.rows
    ]
    cursor = make_cursor(call, request, list(page.next)) if page.next else None
    return TrialTable(columns=list(page.columns), items=items, total=page.total, next_cursor=cursor)


async def list_table_columns(call: Call, request: TableColumnsRequest) -> TableColumns:
    """List the column names that `ListTrialTable` can show, filter and sort by."""
    position = read_cursor(call, request, request.cursor)
    experiment = await find_experiment(call, request.experiment)
    question = GetColumns(
        experiment_id=ExperimentId(experiment.id),
        first=int(str(position[0])) if position else 0,
        declared=declared_by(experiment),
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    cursor = make_cursor(call, request, [found.next]) if found.next is not None else None
    return TableColumns(columns=list(found.columns), next_cursor=cursor)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListTrialTable", "GET", "/v1/experiments/{experiment}/table", TrialTableRequest, TrialTable, READ_EXPERIMENT, SAFE, list_trial_table, waits=True),
    Operation("ListTableColumns", "GET", "/v1/experiments/{experiment}/columns", TableColumnsRequest, TableColumns, READ_EXPERIMENT, SAFE, list_table_columns, waits=True),
)
# fmt: on
