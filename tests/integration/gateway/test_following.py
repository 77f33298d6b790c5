"""What a trial reports, followed value by value, the registry standing in."""

from datetime import timedelta
from typing import Any

import grpc.aio
import httpx
import orjson

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.errors import Transient
from shared.ids import DEFAULT_TENANT, TrialId
from shared.messages.base import Hint
from shared.messages.metrics import (
    GetReported,
    GetReportedByTrials,
    ReportCursor,
    ReportedByTrials,
    ReportedPoint,
    ReportedPoints,
    TrialReportCursor,
)
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import NOW, trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.integration.gateway.test_streams import events
from tests.support.waiting import eventually

_ENDED: dict[str, Any] = {"state": "completed", "final": True, "ended_at": NOW - timedelta(minutes=5)}


async def test_what_a_trial_reports_is_followed_to_its_end_over_breaks(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, trial_changed(made, 1))
    path = f"/v1/trials/{trial_changed(made, 1).trial_id}"
    await eventually(lambda: _is_there(api, path))
    reported = [_reported(1, "loss", 0.5), _reported(1, "error", 0.25), _reported(2, "loss", float("nan"))]
    others.say(GetReported, lambda _, query: _behind(reported, query))
    async with events(api, f"{path}/metrics/follow") as stream:
        start, *blocks = [await stream.next() for _ in range(4)]
    values = [orjson.loads(block["data"]) for block in blocks]
    assert "data" not in start and [(one["name"], one["value"]) for one in values] == [
        ("loss", 0.5),
        ("error", 0.25),
        ("loss", None),
    ]
    async with events(api, f"{path}/metrics/follow", headers={"Last-Event-ID": blocks[0]["id"]}) as stream:
        await stream.next()
        again = [orjson.loads((await stream.next())["data"])["name"] for _ in range(3)]
    assert again == ["loss", "error", "loss"], "a record that was not seen whole is told again"
    async with events(
        api, f"{path}/metrics/follow", headers={"Last-Event-ID": blocks[1]["id"]}, params={"name": "loss"}
    ) as stream:
        await stream.next()
        assert orjson.loads((await stream.next())["data"])["cursor"] == blocks[2]["id"]
        reported += [_reported(3, "error", 0.1), _reported(4, "loss", 0.125)]
        assert orjson.loads((await stream.next())["data"])["value"] == 0.125
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        token = (("authorization", f"Bearer {gateway.admin_token}"),)
        asked = muster_pb2.FollowTrialMetricsRequest(trial=path.rsplit("/", 1)[1], group="training")
        call = muster_pb2_grpc.MusterStub(channel).FollowTrialMetrics(asked, metadata=token)
        found = [await call.read() for _ in range(5)]
        assert [one.step for one in found] == [1, 1, 2, 3, 4] and not found[2].HasField("value")
        call.cancel()
    refused = await api.get(f"{path}/metrics/follow", params={"after": "7"})
    assert (refused.status_code, refused.json()["code"]) == (400, "cursor_invalid")


async def test_following_a_trial_ends_with_it(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, trial_changed(made, 1, state="completed", final=True))
    path = f"/v1/trials/{trial_changed(made, 1).trial_id}"
    await eventually(lambda: _is_there(api, path))
    others.say(GetReported, lambda _, query: _behind([_reported(1, "loss", 0.5)], query))
    seen: list[str] = []
    async with events(api, f"{path}/metrics/follow") as stream:
        while (block := await stream.next()).get("event") != "end":
            seen += [orjson.loads(block["data"])["name"]] if "data" in block else []
    assert seen == ["loss"]


async def test_what_all_trials_report_is_followed_from_where_a_break_came_until_the_experiment_has_ended(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    ids = {number: trial_changed(made, number).trial_id for number in (1, 2, 3, 4)}
    reported = {
        ids[1]: [_reported(1, "loss", 0.5), _reported(2, "loss", 0.25)],
        ids[2]: [_reported(1, "loss", 0.75)],
        ids[3]: [],
        ids[4]: [],
    }
    asked: list[set[TrialId]] = []

    def answer(_: object, query: GetReportedByTrials) -> ReportedByTrials:
        asked.append({one.trial_id for one in query.trials})
        return _behind_each(reported, query)

    others.say(GetReportedByTrials, answer)
    running = trial_changed(made, 2), trial_changed(made, 3)
    await others.announce(
        "searcher", DEFAULT_TENANT, changed(made, 1), trial_changed(made, 1, **_ENDED), *running
    )
    await eventually(lambda: _is_there(api, f"/v1/trials/{ids[3]}"))
    path = f"/v1/experiments/{made['number']}/metrics/follow"

    def told(block: dict[str, str]) -> tuple[int, float]:
        value = orjson.loads(block["data"])
        return value["trial_number"], value["value"]

    async with events(api, path) as stream:
        assert "data" not in await stream.next()
        blocks = [await stream.next() for _ in range(3)]
        assert sorted(map(told, blocks)) == [(1, 0.25), (1, 0.5), (2, 0.75)]
        reported[ids[2]].append(_reported(2, "loss", 0.625))
        others.say(GetReportedByTrials, Transient("it is busy", retry_after_s=1))
        await others.buses["registry"].hint(Hint(entity="metrics", id=ids[2], cursor=3), DEFAULT_TENANT)
        await eventually(lambda: isinstance(others.asked[-1][1], GetReportedByTrials))
        others.say(GetReportedByTrials, answer)
        later = await stream.next()
        assert told(later) == (2, 0.625), "a registry that is busy ends no stream"
        reported[ids[3]].append(_reported(1, "loss", 0.375))
        hint = Hint(entity="metrics", id=ids[3], cursor=1)
        await others.buses["registry"].hint(hint, DEFAULT_TENANT)
        assert told(await stream.next()) == (3, 0.375)
        assert asked[-1] == {ids[3]}, "of a trial that nobody has said anything of nothing is asked"
    reported[ids[4]].append(_reported(1, "loss", 0.875))
    await others.announce("searcher", DEFAULT_TENANT, trial_changed(made, 4))
    async with events(api, path, headers={"Last-Event-ID": blocks[0]["id"]}) as stream:
        await stream.next()
        rest = [told(await stream.next()) for _ in range(5)]
        assert rest == [(1, 0.25), (2, 0.75), (2, 0.625), (3, 0.375), (4, 0.875)], (
            "nothing twice, of no trial"
        )
    async with events(api, path, params={"without_cursors": "true", "name": "loss"}) as stream:
        await stream.next()
        assert orjson.loads((await stream.next())["data"])["cursor"] == ""
        assert others.asked[-1][1].names == ("loss",), "what nobody wants is not read"
    async with events(api, path, params={"after": later["id"]}) as stream:
        await stream.next()
        assert sorted([told(await stream.next()), told(await stream.next())]) == [(3, 0.375), (4, 0.875)]
        done = [trial_changed(made, number, 2, **_ENDED) for number in (2, 3, 4)]
        await others.announce(
            "searcher", DEFAULT_TENANT, *done, changed(made, 2, state="completed", final=True)
        )
        assert (await stream.next())["event"] == "end"


async def test_what_all_trials_of_an_ended_experiment_have_reported_is_told_over_either_protocol(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    made = await create(api)
    ids = {number: trial_changed(made, number).trial_id for number in (1, 2)}
    reported = {
        ids[1]: [_reported(1, "loss", 0.5), _reported(2, "loss", 0.25)],
        ids[2]: [_reported(1, "loss", 0.75), _reported(2, "loss", 0.625)],
    }
    others.say(GetReportedByTrials, lambda _, query: _behind_each(reported, query))
    done = [trial_changed(made, number, **_ENDED) for number in ids]
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1, state="completed", final=True), *done)
    await eventually(lambda: _is_there(api, f"/v1/trials/{ids[2]}"))
    path = f"/v1/experiments/{made['number']}/metrics/follow"
    async with events(api, path, params={"from_now": "true"}) as stream:
        await stream.next()
        assert (await stream.next())["event"] == "end"
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        token = (("authorization", f"Bearer {gateway.admin_token}"),)
        wanted = muster_pb2.FollowExperimentMetricsRequest(experiment=made["id"], name=["loss"])
        call = muster_pb2_grpc.MusterStub(channel).FollowExperimentMetrics(wanted, metadata=token)
        found = [(one.trial_number, one.value) async for one in call]
    assert found == [(1, 0.5), (1, 0.25), (2, 0.75), (2, 0.625)]
    for cursor in ("7:", "4-2", "1,1", "x"):
        refused = await api.get(path, params={"after": cursor})
        assert (refused.status_code, refused.json()["code"]) == (400, "cursor_invalid"), cursor


async def _is_there(api: httpx.AsyncClient, path: str) -> bool:
    return (await api.get(path)).status_code == 200


def _reported(record: int, name: str, value: float) -> ReportedPoint:
    return ReportedPoint(
        run_number=1, record=record, group="training", name=name, step=record, time_ms=1_000, value=value
    )


def _behind_each(
    reported: dict[TrialId, list[ReportedPoint]], query: GetReportedByTrials
) -> ReportedByTrials:
    return ReportedByTrials(trials=tuple(_behind(reported[one.trial_id], one) for one in query.trials))


def _behind(reported: list[ReportedPoint], query: GetReported | TrialReportCursor) -> ReportedPoints:
    """The registry's answer: what is behind a place, and how far it goes."""
    new = tuple(
        one for one in reported if (one.run_number, one.record) > (query.after.run_number, query.after.record)
    )
    end = (
        ReportCursor(run_number=1, record=new[-1].record, step=new[-1].step, count=len(reported))
        if new
        else query.after
    )
    return ReportedPoints(points=new, end=end, is_last=True)
