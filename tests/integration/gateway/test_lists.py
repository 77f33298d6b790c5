"""Lists that are filtered and sorted: the database chooses as the same expressions choose of what is shown, whatever the page's size."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from services.gateway.audit_log import schema as audit
from services.gateway.cluster import schema as cluster
from services.gateway.experiment_groups.schema import ExperimentGrouping
from services.gateway.experiments.schema import Experiment, ListExperimentsRequest
from services.gateway.long_operations import schema as operations
from services.gateway.model_versions import schema as versions
from services.gateway.platform.commands import schema
from services.gateway.policies import schema as policies
from services.gateway.pools import schema as pools
from services.gateway.reservations import schema as reservations
from services.gateway.roles import schema as roles
from services.gateway.sessions import schema as sessions
from services.gateway.trials import schema as trials
from services.gateway.trials.schema import ListTrialsRequest, Trial
from services.gateway.users import schema as people
from services.gateway.webhooks import schema as webhooks
from shared.ids import DEFAULT_TENANT, derived_id
from shared.messages import experiments as messages
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.queue import GetQueue, QueuePage
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.listing import chosen, fill, fill_more, pool_view, session_of, walk
from tests.integration.gateway.seeding import NOW, seed, trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import eventually


@pytest.fixture
async def several(api: httpx.AsyncClient, others: Others) -> None:
    """Experiments that differ in what they are and in how far they came."""
    made = [await create(api, name=f"list-{name}", labels=labels) for name, labels in (
        ("b", ["one"]), ("a", ["one", "two"]), ("c", []), ("a", ["two"]), ("50%", []),
    )]  # fmt: skip
    values = [0.5, None, float("inf"), 0.25]
    for place, value in enumerate(values):
        best = value is not None and messages.BestTrial.model_validate(
            {
                "trial_id": derived_id(DEFAULT_TENANT, "best", place),
                "trial_number": 0,
                "step": 1,
                "value": value,
            }
        )
        state = "completed" if place % 2 else "active"
        now = changed(made[place], 1, state=state, progress=place / 4, best=best or None)
        await others.announce("searcher", DEFAULT_TENANT, now)

    ids = {one["id"] for one in made}

    async def told() -> bool:
        found = await walk(api, "/v1/experiments", 200, filter="name contains list-")
        return [one["version"] for one in found if one["id"] in ids].count(1) == 4

    await eventually(told)


async def test_the_database_chooses_as_the_words_say(api: httpx.AsyncClient, several: None) -> None:
    every = await walk(api, "/v1/experiments", 200)
    for filter_, sort in (
        ("", "-created_at,name"),
        ("name contains list-", "name"),
        ("name contains list-", "-name,state"),
        ("name contains list-", "best.value"),
        ("name contains list-", "-best.value,-progress"),
        ("name contains list-", "started_at,-number"),
        ('name contains "50%"', ""),
        ("labels contains one and not labels contains two", ""),
        ("labels is absent and name contains list-", "name"),
        ("state in (active, completed) and progress >= 0.25", "-progress"),
        ("best.value is absent and name contains list-", ""),
        ("not best.value > 0.3 and name contains list-", "best.value"),
        ("not (best.value != 0.25)", "name"),
        ("number > 1.5 and number != 2 and number < 99999999999", "-number"),
        ("started_at is not absent", "started_at"),
        (f'started_at <= "{datetime.now(UTC).isoformat()}"', "-started_at"),
        ("trials.error = 0 and final = false", "trials.running,name"),
        ("priority is not absent or priority < 1000", "priority"),
        ("forked_from is absent and code_sha256 is absent", "workspace,project,owner,searcher"),
    ):
        meant = chosen(Experiment, ListExperimentsRequest, every, filter_, sort)
        for limit in (2, 200):
            found = await walk(api, "/v1/experiments", limit, filter=filter_, sort=sort)
            assert [one["number"] for one in found] == meant, (filter_, sort, limit)


async def test_groups_count_what_the_list_shows(api: httpx.AsyncClient, several: None) -> None:
    for filter_ in ("", "name contains list- and not labels contains two"):
        every = await walk(api, "/v1/experiments", 200, filter=filter_)
        for by in ExperimentGrouping:
            meant: dict[str | None, Counter[str]] = defaultdict(Counter)
            for one in every:
                for value in (one["labels"] or [None]) if by is ExperimentGrouping.LABELS else [one[by]]:
                    meant[value][one["state"]] += 1
            for limit in (1, 200):
                found = await walk(api, "/v1/experiment-groups", limit, by=by, filter=filter_)
                assert {group["value"]: group["states"] for group in found} == meant, (by, filter_, limit)
                assert [group["count"] for group in found] == [
                    sum(group["states"].values()) for group in found
                ]
                values = [group["value"] for group in found]
                assert len(values) == len(meant) and None not in values[:-1]
    unknown = await api.get("/v1/experiment-groups", params={"by": "name"})
    assert unknown.status_code == 400
    odd = await api.get("/v1/experiment-groups", params={"by": "owner", "filter": "config = x"})
    assert odd.status_code == 422 and odd.json()["code"] == "unknown_name"


async def test_trials_are_chosen_by_what_they_show(api: httpx.AsyncClient, others: Others) -> None:
    experiment = (await seed(api, others)).experiment
    for number in range(2, 6):
        best = {"step": number, "value": 1 / number, "others": {}} if number != 3 else None
        more: dict[str, Any] = {
            "state": "completed" if number > 3 else "queued",
            "runs": number % 2,
            "best": best,
        }
        await others.announce("searcher", DEFAULT_TENANT, trial_changed(experiment, number, **more))
    path = f"/v1/experiments/{experiment['number']}/trials"

    async def told() -> bool:
        return len(await walk(api, path, 200)) >= 5

    await eventually(told)
    every = await walk(api, path, 200)
    for filter_, sort in (
        ("state = completed", ""),
        ("runs = 1 and not state = queued", "-number"),
        ("best.value < 0.4", "best.value"),
        ("best.value is absent or invalid = true", "-seed,-number"),
        ("", "-best.value"),
        ("created_at is not absent and ended_at is absent and final = false", "state,-runs"),
        ("source is absent", "slots,source,-number"),
    ):
        meant = chosen(Trial, ListTrialsRequest, every, filter_, sort)
        for limit in (2, 200):
            found = await walk(api, path, limit, filter=filter_, sort=sort)
            assert [one["number"] for one in found] == meant, (filter_, sort, limit)
    best_first = [one["number"] for one in await walk(api, path, 2, order="best")]
    assert best_first == chosen(Trial, ListTrialsRequest, every, "", "best.value")


async def test_a_cursor_is_good_for_its_order_only_and_faults_name_their_place(
    api: httpx.AsyncClient,
) -> None:
    number = (await create(api))["number"]
    await create(api)
    sorted_ = {"sort": "name", "limit": "1"}
    cursor = (await api.get("/v1/experiments", params=sorted_)).json()["next_cursor"]
    other = await api.get("/v1/experiments", params={"sort": "-name", "limit": "1", "cursor": cursor})
    assert other.status_code == 400 and other.json()["code"] == "cursor_invalid"
    for path, params, place in (
        ("/v1/experiments", {"filter": "config = x"}, "filter"),
        ("/v1/models", {"sort": "stages"}, "sort"),
        ("/v1/tokens", {"filter": "hash is absent"}, "filter"),
        ("/v1/workers", {"sort": "-tenant"}, "sort"),
        (f"/v1/experiments/{number}/checkpoints", {"filter": "path = x"}, "filter"),
    ):
        refused = await api.get(path, params=params)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_name"), refused.text
        assert refused.json()["place"] == place and "available fields: " in refused.json()["hint"]


async def test_tokens_and_models_are_chosen_as_they_are_shown(api: httpx.AsyncClient, others: Others) -> None:
    seeded = await seed(api, others)
    for name, role in (("ci-b", "viewer"), ("ci-a", "editor")):
        assert (await api.post("/v1/tokens", json={"name": name, "role": role})).status_code == 201
    found = await walk(api, "/v1/tokens", 1, filter="name contains ci- and revoked_at is absent", sort="name")
    assert [one["name"] for one in found] == ["ci-a", "ci-b"]
    mine = await walk(api, "/v1/tokens", 1, filter="name contains ci- and role = editor and user is absent")
    assert [one["name"] for one in mine] == ["ci-a"]
    name = f"model-{seeded.experiment['number']}"
    models = await walk(api, "/v1/models", 1, filter=f'name = "{name}" and versions >= 0', sort="-created_at")
    assert [one["id"] for one in models] == [str(seeded.model)]


async def test_people_machines_versions_webhooks_and_records_are_chosen_as_they_are_shown(
    api: httpx.AsyncClient, others: Others
) -> None:
    peopled = await fill(api, others)
    lists: Any = (
        (people.User, people.ListUsersRequest, "/v1/users", "name contains list-", (
            ("kind = service_account", "-name"), ("disabled_at is absent", "created_at"),
            ("groups contains list-night and not disabled_at is absent", ""), ("groups is absent", "-display_name,name"),
        )),
        (people.Group, people.ListGroupsRequest, "/v1/groups", "name contains list-", (
            ("members = 0", ""), ("", "-members"), ("members >= 1 or description contains x", "-name"),
        )),
        (versions.ModelVersion, versions.ListModelVersionsRequest, f"/v1/models/{peopled}/versions", "", (
            ("stage = production and tags contains eu", ""), ("tags is absent", "number"), ("", "stage,-number"),
            ("size_bytes >= 3 and lineage.step = 5 and files < 2", "-created_at,number"), ("name = nothing", ""),
        )),
        (webhooks.Webhook, webhooks.ListWebhooksRequest, "/v1/webhooks", "name contains list-", (
            ('events contains "trial.*"', ""), ("labels is absent or enabled = false", "-name"),
            ("dead = 0 and waiting < 1 and workspace is absent", "-created_at"), ("form = slack", ""),
        )),
        (cluster.InstanceRecord, cluster.ListInstancesRequest, "/v1/instances", "worker contains list-", (
            ("price_per_hour > 0.5", "-slots"), ("ended_at is absent and state = ready", "price_per_hour"),
            ("purchase = on_demand and zone is absent", "kind,-slots"),
            (f'launched_at <= "{NOW.isoformat()}"', "-ended_at,slots"), ("reason is absent", ""),
        )),
        (audit.AuditRecord, audit.ListAuditRequest, "/v1/audit", "operation in (CreateGroup, EditUser)", (
            ("outcome = allowed and entity contains list-", "at"), ("count > 1", ""), ("code is absent", "operation,-sequence"),
        )),
    )  # fmt: skip

    async def sealed() -> bool:
        return len(await walk(api, "/v1/audit", 200, filter="operation = CreateGroup")) >= 2

    await eventually(sealed)
    for model, request, path, among, cases in lists:
        key = "sequence" if path == "/v1/audit" else "id"
        await chosen_as_shown(api, model, request, path, among, cases, key)


async def test_access_bookings_limits_and_attempts_are_chosen_as_they_are_shown(
    api: httpx.AsyncClient, others: Others, gateway: Gateway
) -> None:
    trial = await fill_more(api, others, gateway)
    lists: Any = (
        (policies.Template, policies.ListTemplatesRequest, "/v1/templates", "name contains list-", (
            ("workspace is absent", "name"), ("workspace = vision and description contains y", ""), ("", "-workspace,-name"),
        ), "name"),
        (roles.Tenant, roles.ListTenantsRequest, "/v1/tenants", "name contains list-", (
            ("created_at is not absent", "-name"), ("name != list-x", ""),
        ), "name"),
        (roles.RoleBinding, roles.ListRoleBindingsRequest, "/v1/role-bindings", "", (
            ("role = viewer and workspace is absent", ""), ("project is not absent", ""), ("group = given", ""), ("", "-workspace,user,role"),
        ), "id"),
        (sessions.Session, sessions.ListUserSessionsRequest, "/v1/users/given-ada/sessions", "", (
            ("via = token", "created_at"), ("", "-used_at"), ("via = password", ""),
        ), "id"),
        (trials.Run, trials.ListRunsRequest, f"/v1/trials/{trial}/runs", "", (
            ("state = ended and charged = true", ""), ("exit_code = 1 and outcome = failed", "-number"), ("ended_at is absent", ""),
            ("pool != gpu", "-granted_at"), ("", "-exit_code,number"), ("outcome = interrupted", ""), ("outcome = lost", ""),
        ), "number"),
        (schema.LongOperation, operations.ListOperationsRequest, "/v1/operations", "", (
            ("operation = PauseExperiment", "created_at"), ("operation != PauseExperiment", ""), ("", "operation"),
            ("state = running", "created_at"), ("state != running", ""),
        ), "id"),
        (pools.Limit, pools.ListLimitsRequest, "/v1/limits", "", (
            ("workspace is absent", ""), ("guaranteed > 0 and pool = default", "-maximum"), ("", "-weight,workspace"),
        ), "id"),
        (reservations.Reservation, reservations.ListReservationsRequest, "/v1/reservations", "", (
            ("slots >= 2 and workspace = vision", ""), ("tenant = default", "-slots"), ('begins_at > "2126-01-02"', "ends_at"),
        ), "id"),
    )  # fmt: skip
    for model, request, path, among, cases, key in lists:
        await chosen_as_shown(api, model, request, path, among, cases, key)
    mine = await session_of(gateway, "given-ada", api)
    async with gateway.client(mine) as ada:
        assert len(await walk(ada, "/v1/sessions", 1, filter="via = token", sort="used_at")) == 3
        [asking] = await walk(ada, "/v1/sessions", 1, filter="current = true", sort="-current")
        assert asking["current"] and len(await walk(ada, "/v1/sessions", 1, filter="current = false")) == 2


async def chosen_as_shown(
    api: httpx.AsyncClient, model: Any, request: Any, path: str, among: str, cases: Any, key: str
) -> None:
    """Of those that `among` names each case gives what the same words choose of all that is shown, whatever the page's size."""
    every = await walk(api, path, 200, filter=among)
    assert len(every) > 1, path
    for filter_, sort in cases:
        meant = chosen(model, request, every, filter_, sort, key)
        narrowed = " and ".join(f"({part})" for part in (among, filter_) if part)
        for limit in (1, 200):
            found = await walk(api, path, limit, filter=narrowed, sort=sort)
            assert [one[key] for one in found] == meant, (path, filter_, sort, limit)


async def test_the_queue_is_asked_for_as_it_is_wanted_and_pools_are_chosen_here(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetQueue, QueuePage(entries=()))
    wanted = {"filter": "code = waiting_for_slots", "sort": "-slots,since"}
    assert (await api.get("/v1/queue", params=wanted)).status_code == 200
    query = others.asked[-1][1]
    assert (query.filter, query.sort) == (wanted["filter"], wanted["sort"])
    refused = await api.get("/v1/queue", params={"filter": "state = runing"})
    assert (refused.status_code, refused.json()["place"]) == (422, "filter"), refused.text
    others.say(GetCluster, ClusterView(pools=tuple(map(pool_view, ("b", "a", "c"))), workers=()))
    for filter_, sort, names in (("", "", "abc"), ("name != b", "-name", "ca"), ("slots > 1", "", "")):
        found = await walk(api, "/v1/pools", 1, filter=filter_, sort=sort)
        assert "".join(one["name"] for one in found) == names
