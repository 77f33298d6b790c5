"""What lists are filtered and sorted by: every field has its SQL, faults name what there is, and pages walk through everything once."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from sqlalchemy.dialects import postgresql

from services.gateway.audit_log.schema import ListAuditRequest
from services.gateway.checkpoints.schema import ListExperimentCheckpointsRequest, ListTrialCheckpointsRequest
from services.gateway.cluster import store as cluster_store
from services.gateway.cluster.schema import (
    ListInstancesRequest,
    ListQueueRequest,
    ListWorkersRequest,
    QueueEntry,
    Worker,
)
from services.gateway.experiments import store as experiments
from services.gateway.experiments.schema import ListExperimentsRequest
from services.gateway.long_operations.schema import ListOperationsRequest
from services.gateway.model_versions.schema import ListModelVersionsRequest
from services.gateway.models import store as models
from services.gateway.models.schema import ListModelsRequest
from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.audit import store as audit
from services.gateway.platform.auth.store import (
    accounts as people,
    roles,
    sessions as sign_in,
    tokens as access,
)
from services.gateway.platform.schema import ListRequest, Resource, describe_field
from services.gateway.policies import store as policies
from services.gateway.policies.schema import ListTemplatesRequest
from services.gateway.pools.schema import ListLimitsRequest, ListPoolsRequest
from services.gateway.reservations.schema import ListReservationsRequest
from services.gateway.roles.schema import ListRoleBindingsRequest, ListTenantsRequest
from services.gateway.sessions.schema import ListSessionsRequest, ListUserSessionsRequest
from services.gateway.tokens.schema import ListTokensRequest
from services.gateway.trials import store as trial_store
from services.gateway.trials.schema import ListRunsRequest, ListTrialsRequest
from services.gateway.users.schema import ListGroupsRequest, ListUsersRequest
from services.gateway.webhooks import delivery_store as deliveries, store as webhooks
from services.gateway.webhooks.schema import ListWebhookDeliveriesRequest, ListWebhooksRequest
from services.registry.checkpoints.queries import LISTING
from services.registry.checkpoints.store.checkpoints import LISTED
from shared.errors import Rejected
from shared.filters.fields import Listing, ListQuery, position_of
from shared.filters.in_memory import cell_of, select
from shared.filters.sql import Cells, condition

EXPERIMENTS = ListExperimentsRequest.listing
NOW = datetime(2026, 11, 22, tzinfo=UTC)
IN_SQL: dict[type[ListRequest], Cells] = {
    ListExperimentsRequest: experiments.EXPERIMENTS,
    ListTrialsRequest: trial_store.TRIALS,
    ListModelsRequest: models.MODELS,
    ListTokensRequest: access.TOKENS,
    ListUsersRequest: people.ACCOUNTS,
    ListGroupsRequest: people.GROUPS,
    ListModelVersionsRequest: models.VERSIONS,
    ListWebhooksRequest: webhooks.WEBHOOKS,
    ListWebhookDeliveriesRequest: deliveries.DELIVERIES,
    ListInstancesRequest: cluster_store.INSTANCES,
    ListAuditRequest: audit.RECORDS,
    ListRunsRequest: trial_store.RUNS,
    ListTemplatesRequest: policies.TEMPLATES,
    ListSessionsRequest: sign_in.sessions_seen_by(None),
    ListUserSessionsRequest: sign_in.sessions_seen_by(None),
    ListRoleBindingsRequest: roles.BINDINGS,
    ListTenantsRequest: access.TENANTS,
}
IN_MEMORY: set[type[ListRequest]] = {
    ListWorkersRequest,
    ListPoolsRequest,
    ListLimitsRequest,
    ListReservationsRequest,
    ListOperationsRequest,
}
OF_THE_SCHEDULER: set[type[ListRequest]] = {ListQueueRequest}
OF_THE_REGISTRY: set[type[ListRequest]] = {ListTrialCheckpointsRequest, ListExperimentCheckpointsRequest}


class Machine(Resource):
    """Something that is listed."""

    id: str
    name: str
    slots: int
    price: float | None = None
    since: datetime = NOW
    tags: list[str] = []
    labels: dict[str, str] = {}
    owner: UUID | None = None


MACHINES = Listing.of(
    Machine, *("name", "slots", "price", "since", "tags", "labels", "owner"), default_order="-slots,id"
)


def walk(machines: list[Machine], filter_: str, sort: str, limit: int = 2) -> list[str]:
    """The ids that pages show, one page after the other."""
    met, orders = MACHINES.read(filter_, sort)
    found: list[str] = []
    after = None
    while True:
        page = select(machines, ListQuery(met, orders, after, limit), cell_of)
        found += [machine.id for machine in page[:limit]]
        if len(page) <= limit:
            return found
        after = position_of(cell_of(page[limit - 1], order.column) for order in orders)


def test_every_list_that_is_filtered_has_all_its_fields_in_sql_or_at_hand() -> None:
    listed = {row.request for row in OPERATIONS if issubclass(row.request, ListRequest)}
    assert listed == {*IN_SQL, *IN_MEMORY, *OF_THE_REGISTRY, *OF_THE_SCHEDULER}
    for request, cells in IN_SQL.items():
        for field in (
            *request.listing.fields.values(),
            *(order.column for order in request.listing.default_order),
        ):
            assert str(cells.of(field).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]


def test_the_scheduler_goes_by_fields_of_what_the_queue_shows() -> None:
    assert set(ListQueueRequest.listing.fields) <= set(QueueEntry.model_fields)


def test_the_registry_goes_by_what_the_gateway_offers() -> None:
    for request in OF_THE_REGISTRY:
        assert request.listing == LISTING
    for field in LISTING.fields.values():
        assert str(LISTED.of(field).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("filter_", "sort", "code", "said"),
    [
        (
            "stat = active",
            "",
            "unknown_name",
            "at character 1: this list cannot be filtered or sorted by 'stat'",
        ),
        (
            "",
            "-hparams.lr",
            "unknown_name",
            "at character 2: this list cannot be filtered or sorted by 'hparams.lr'",
        ),
        ("config contains x", "", "unknown_name", "sorted by 'config'"),
        ("state = runing", "", "bad_filter", "'state' cannot be 'runing'"),
        ("not (number = 1 or state in (active, gone))", "", "bad_filter", "'state' cannot be 'gone'"),
        ("labels = a", "", "bad_filter", "the field holds several values: expected contains"),
        ("labels in (a, b)", "", "bad_filter", "the field holds several values: expected contains"),
        ("", "labels", "bad_filter", "this list cannot be sorted by 'labels'"),
        ("number contains 1", "", "bad_filter", "expected a text"),
        ("created_at > yesterday", "", "bad_filter", "expected a time"),
        ("", "number,state,name,owner,project", "bad_filter", "at most 4 columns"),
        ("number = 1; DROP TABLE gateway.experiment", "", "bad_filter", "';' is not expected here"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(
    filter_: str, sort: str, code: str, said: str
) -> None:
    with pytest.raises(Rejected) as refused:
        EXPERIMENTS.read(filter_, sort)
    assert (refused.value.code, refused.value.place) == (code, "filter" if filter_ else "sort")
    assert said in refused.value.message


def test_what_is_reckoned_is_filtered_by_and_not_ordered() -> None:
    listing = ListOperationsRequest.listing
    assert listing.read("state = running", "-created_at")[0] is not None
    with pytest.raises(Rejected, match="cannot be sorted by 'state'"):
        listing.read("", "state")


def test_a_wrong_name_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(
        Rejected, match=r"did you mean 'created_at'\? available fields: number, name, .*ended_at"
    ):
        EXPERIMENTS.read("create_at is absent", "")
    assert "`labels.WORD`" in describe_field(ListWorkersRequest, "filter")


def test_nothing_that_a_user_writes_becomes_sql() -> None:
    evil = "x' OR 1=1 --"
    for text in (f'name = "{evil}"', f'name contains "{evil}"', f'labels contains "{evil}"'):
        found, _ = EXPERIMENTS.read(text, "")
        assert found is not None
        sql = condition(found, experiments.EXPERIMENTS).compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]
        assert "1=1" not in str(sql)


@pytest.mark.parametrize(
    ("filter_", "ids"),
    [
        ("", "dcab"),
        ("slots >= 2 and not name = c", "da"),
        ("price is absent", "ab"),
        ("price < 1", "d"),
        ("not price < 1", "cab"),
        ("tags contains gpu", "da"),
        ("tags is absent", "cb"),
        ("labels.rack = r7", "d"),
        ("labels.rack is absent", "cab"),
        ("name contains A or price = 5", "c"),
        ('since < "2026-11-22"', "b"),
        ('owner = "00000000-0000-0000-0000-000000000007"', "b"),
    ],
)
def test_items_at_hand_are_filtered(filter_: str, ids: str) -> None:
    machines = [
        Machine(id="a", name="a", slots=2, tags=["gpu"]),
        Machine(id="b", name="b", slots=1, since=NOW - timedelta(days=1), owner=UUID(int=7)),
        Machine(id="c", name="c", slots=3, price=5),
        Machine(id="d", name="d", slots=4, price=0.5, tags=["gpu", "new"], labels={"rack": "r7"}),
    ]
    assert "".join(walk(machines, filter_, "")) == ids


_MACHINES = st.lists(
    st.builds(
        Machine,
        id=st.uuids().map(str),
        name=st.sampled_from("abc"),
        slots=st.integers(0, 2),
        price=st.none() | st.sampled_from([0.0, 1.5, float("inf")]),
        since=st.sampled_from([NOW, NOW + timedelta(microseconds=1)]),
    ),
    max_size=12,
    unique_by=lambda machine: machine.id,
)
_SORTS = st.lists(st.sampled_from(["name", "-slots", "price", "-price", "-since", "id"]), max_size=3)


@given(_MACHINES, _SORTS, st.integers(1, 5))
def test_pages_walk_through_everything_once_and_in_order(
    machines: list[Machine], sorts: list[str], limit: int
) -> None:
    sort = ",".join(one for one in sorts if one != "id")
    found = walk(machines, "", sort, limit)
    assert sorted(found) == sorted(machine.id for machine in machines)
    assert found == walk(machines, "", sort, 100)
    by_id = {machine.id: machine for machine in machines}
    for first, second in pairwise(found):
        assert _key(by_id[first], sort) <= _key(by_id[second], sort)


def _key(machine: Machine, sort: str) -> tuple[Any, ...]:
    parts: list[Any] = []
    for one in (sort or "-slots").split(","):
        value = getattr(machine, one.removeprefix("-"))
        if isinstance(value, datetime):
            value = value.timestamp()
        if isinstance(value, str):
            value = ord(value)
        parts += [value is None, 0 if value is None else -value if one[0] == "-" else value]
    return tuple(parts)


def test_a_cursor_of_another_order_is_refused() -> None:
    worker = Worker(
        id="w", pool="p", state="ready", slots=1, used_slots=0, isolated_user=True, last_heartbeat_at=NOW
    )
    met, orders = ListWorkersRequest.listing.read("", "pool")
    with pytest.raises(Rejected, match="start again"):
        select([worker], ListQuery(met, orders, ["w"], 1), cell_of)
