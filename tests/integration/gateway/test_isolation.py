"""Who may not, may not: every operation, by REST and gRPC, for every kind of caller, at each place where an id can stand (`matrix`)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import pytest
from pydantic import JsonValue

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.auth.permissions import ROLES, Access
from shared.ids import DEFAULT_TENANT, TenantId
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.queue import Explain, Explanation
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.matrix import (
    GUARDED,
    OF_THE_SITE,
    PLACES,
    WHOSE,
    WITHIN,
    WORDS,
    Place,
    Row,
    Values,
    alike,
    ask_rest,
    ask_rpc,
    texts_of,
)
from tests.integration.gateway.seeding import checkpoints_of, seed
from tests.integration.gateway.sites import Site, made, named, people_of, refused, user
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

HERE, ELSEWHERE = "vision", "speech"
NOTHING = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.PERMISSION_DENIED)


@pytest.fixture(scope="module")
async def site(gateway: Gateway, others: Others, postgres: TestDatabase) -> AsyncIterator[Site]:
    async with (
        gateway.client() as admin,
        gateway.client("") as client,
        grpc.aio.insecure_channel(gateway.grpc_address) as channel,
    ):
        other = await made(admin, "/v1/tenants", {"name": "globex"})
        foreign = other["secret"]
        async with gateway.client(foreign) as api:
            foreign_people = await people_of(api, "hank", HERE)
            far = await seed(api, others, TenantId(UUID(other["id"])), workspace=HERE)
        people = await people_of(admin, "ann", HERE)
        spoken = {"name": "spoken", "workspace": ELSEWHERE, "config": {"max_restarts": 2}}
        elsewhere_template = (await made(admin, "/v1/templates", spoken))["name"]
        here = await seed(admin, others, workspace=HERE)
        elsewhere = await seed(admin, others, workspace=ELSEWHERE)
        beside = await seed(admin, others, workspace=HERE, project="other")
        others.answers[ListCheckpoints] = checkpoints_of(
            {DEFAULT_TENANT: (here, elsewhere, beside), TenantId(UUID(other["id"])): (far,)}
        )
        lead = await user(admin, "lead-elsewhere", "workspace-admin", workspace=ELSEWHERE)
        project = await user(admin, "editor-beside", "editor", workspace=HERE, project="other")
        outsiders = {"foreign": foreign, "elsewhere": lead, "project": project}
        own = {
            "foreign": named(far, foreign_people),
            "elsewhere": named(elsewhere, people | {"template": elsewhere_template}),
            "project": named(beside, people),
        }
        yield Site(
            client=client,
            channel=channel,
            theirs=named(here, people),
            own=own,
            outsiders=outsiders,
            refused=await refused(gateway, admin, postgres),
            roles={name: await user(admin, f"all-{name}", name) for name in ROLES},
            insider=await user(admin, "viewer-here", "viewer", workspace=HERE),
        )


def test_only_these_operations_ask_for_no_access_token() -> None:
    public = {row.name for row in OPERATIONS if isinstance(row.permission, Access)}
    assert public == {
        *("GetHealth", "JoinWorker"),
        *("ListSignInWays", "SignIn", "SignInWithToken", "SignInWithLink", "BeginSignIn", "FinishSignIn"),
    }


def test_every_text_of_every_request_is_known_to_name_a_thing_or_nothing() -> None:
    """A new operation, or a new field of one, says here what it names; then it is in the matrix."""
    known = WHOSE | WITHIN | OF_THE_SITE | WORDS
    unknown = {f"{row.name}.{field}" for row in GUARDED for field in texts_of(row) if field not in known}
    assert not unknown


async def test_who_is_nobody_is_refused_everywhere(site: Site) -> None:
    async def ask(row: Row, who: str, token: str) -> str | None:
        answer = await ask_rest(site.client, row, {}, token)
        told = answer.headers.get("www-authenticate")
        if (answer.status_code, told) != (401, "Bearer"):
            return f"{who} at {row.name}: {answer.status_code}"
        code = await ask_rpc(site.channel, row, {}, token)
        return None if code is grpc.StatusCode.UNAUTHENTICATED else f"{who} at rpc {row.name}: {code}"

    async def are_refused() -> bool:
        answers = [await ask_rest(site.client, GUARDED[0], {}, token) for token in site.refused.values()]
        return all(answer.status_code == 401 for answer in answers)

    await eventually(are_refused)
    await site.each(ask(row, who, token) for row in GUARDED for who, token in site.refused.items())


async def test_a_role_may_what_its_permissions_say_and_nothing_else(site: Site) -> None:
    async def ask(row: Row, role: str, token: str) -> str | None:
        if row.permission in ROLES[role]:
            # Only what changes nothing: what is named is nowhere.
            answer = await ask_rest(site.client, row, {}, token) if row.verb == "GET" else None
            is_denied = answer is not None and answer.status_code in (401, 403)
            return f"{role} may not {row.name}" if is_denied else None
        answer = await ask_rest(site.client, row, named_in(row, site.theirs), token)
        code = await ask_rpc(site.channel, row, named_in(row, site.theirs), token)
        expected = (404, NOTHING[0]) if row.path_fields else (403, NOTHING[1])
        found = answer.status_code, code
        return None if found == expected else f"{role} at {row.name}: {found}, not {expected}"

    await site.each(ask(row, role, token) for row in GUARDED for role, token in site.roles.items())


async def test_what_is_not_ones_own_looks_absent_wherever_it_is_named(site: Site) -> None:
    """Answered as for a thing that never was, whatever else the request names being the caller's own."""

    async def ask(place: Place, who: str, token: str) -> str | None:
        own, row = site.own[who], place.row
        if site.theirs[place.field] == own[place.field]:
            return None  # Known to all of a tenant, such as its users.
        rest = named_in(row, own, only_path=True)
        theirs, absent = site.theirs[place.field], absent_of(place.field)
        names = [*map(str, own.values()), str(theirs), str(absent)]
        asked = [
            alike(await ask_rest(site.client, row, rest | {place.field: value}, token), names)
            for value in (theirs, absent)
        ]
        codes = [
            await ask_rpc(site.channel, row, rest | {place.field: value}, token) for value in (theirs, absent)
        ]
        if asked[0] != asked[1] or codes[0] is not codes[1]:
            return f"{who} at {place}: {asked}, {codes}"
        if place.field in row.path_fields and (asked[0][0] != 404 or codes[0] is not NOTHING[0]):
            return f"{who} at {place}: {asked[0]}, {codes[0]}, though it is in the path"
        return None

    await site.each(ask(place, who, token) for place in PLACES for who, token in site.outsiders.items())


async def test_who_belongs_there_sees_it(site: Site) -> None:
    """What the matrix finds absent is there."""
    rows = {row.name: row for row in GUARDED}
    for name in (
        "GetExperiment",
        "ListTrials",
        "GetTrial",
        "ListRuns",
        "GetModel",
        "ListModelVersions",
        "GetCheckpoint",
        "GetTemplate",
    ):
        row = rows[name]
        answer = await ask_rest(site.client, row, named_in(row, site.theirs), site.insider)
        assert answer.status_code == 200, (name, answer.text)
        assert (
            await ask_rpc(site.channel, row, named_in(row, site.theirs), site.insider) is grpc.StatusCode.OK
        )


async def test_lists_hold_what_one_sees(site: Site) -> None:
    async def listed(path: str, token: str) -> set[str]:
        answer = await site.client.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        return {item["id"] for item in answer.json()["items"]}

    for path, field in (("/v1/experiments", "experiment"), ("/v1/models", "model")):
        theirs = str(site.theirs[field])
        assert theirs in await listed(path, site.insider)
        for who, token in site.outsiders.items():
            found = await listed(path, token)
            assert theirs not in found, (path, who)
            assert (who == "project" and field == "model") or str(site.own[who][field]) in found, (path, who)


async def test_an_explanation_names_what_one_sees_and_counts_the_rest(site: Site, others: Others) -> None:
    async def asked(path: str, token: str) -> Any:
        answer = await site.client.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        return answer.json()

    admin = site.roles["admin"]
    here, hidden = [
        (await asked(f"/v1/experiments/{one['experiment']}", admin))["number"]
        for one in (site.theirs, site.own["elsewhere"])
    ]
    held = {"trial_number": 1, "slots": 2, "since": datetime.now(UTC)}
    told = Explanation.model_validate(
        {
            "trial_id": site.theirs["trial"],
            "state": "waiting",
            "code": "waiting_for_slots",
            "message": "",
            "holders": [{"experiment_number": number, **held} for number in (here, hidden)],
            "own_runs": 2,
            "preemption": {
                "run_number": 1,
                "code": "priority",
                "message": f"for {hidden}.1, whose priority is higher",
                "by": f"{hidden}.1",
            },
        }
    )
    others.say(Explain, told)
    path = f"/v1/trials/{site.theirs['trial']}/explanation"
    for token, numbers, by in ((admin, [here, hidden], f"{hidden}.1"), (site.insider, [here], None)):
        found = await asked(path, token)
        assert [one["experiment_number"] for one in found["holders"]] == numbers
        assert found["own_runs"] == 2 and found["preemption"]["by"] == by
        assert (f"{hidden}.1" in found["preemption"]["message"]) == (by is not None)


async def test_a_stream_of_events_holds_what_one_sees(site: Site) -> None:
    """From the first event on, of a tenant in which all sorts of things were announced in two workspaces."""
    for token, seen, hidden in (
        (site.insider, site.theirs, site.own["elsewhere"]),
        (site.outsiders["elsewhere"], site.own["elsewhere"], site.theirs),
    ):
        headers = {"Authorization": f"Bearer {token}"}
        entities: set[str] = set()
        async with site.client.stream("GET", "/v1/events", params={"after": "0"}, headers=headers) as stream:
            assert stream.status_code == 200, await stream.aread()
            async with asyncio.timeout(20):
                async for line in stream.aiter_lines():
                    if line.startswith("data: "):
                        entities |= {str(value) for value in seen.values() if str(value) in line}
                        assert not any(str(hidden[one]) in line for one in ("experiment", "trial", "model"))
                    if {seen["trial"], seen["model"]} <= entities:
                        break
        assert {seen["trial"], seen["model"]} <= entities


def named_in(row: Row, values: Values, *, only_path: bool = False) -> Values:
    """Those of the values that the request has a field for; versions and the like are the first of what they count within."""
    within: Values = {
        "version": "1",
        "alias": "champion",
        "sha256": "ab" * 32,
        "worker": "w1",
        "pool": "default",
    }
    fields = row.path_fields if only_path else (*row.path_fields, *texts_of(row))
    return {field: value for field, value in (within | values).items() if field in fields}


def absent_of(field: str) -> JsonValue:
    """A name of the same form that names nothing."""
    return (
        "nobody"
        if field in ("workspace", "project", "user", "group", "role", "tenant", "provider")
        else str(uuid4())
    )
