"""Logs in pages, followed by SSE and by gRPC, and searched."""

from typing import Any
from uuid import UUID

import httpx
import orjson

from shared.ids import DEFAULT_TENANT
from shared.messages.logs import FoundLine, FoundLines, GetLogs, LogPage, SearchLogs, StoredLine
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.integration.gateway.test_streams import events
from tests.support.waiting import eventually


class Log:
    """The registry's log of some trials."""

    def __init__(self) -> None:
        self.lines: dict[UUID, list[str]] = {}
        self.ended: set[UUID] = set()

    def page(self, ask: Any, query: GetLogs) -> LogPage:
        lines = self.lines.get(query.trial_id, [])
        after = query.after if query.tail is None else max(query.after, len(lines) - query.tail)
        shown = lines[after : after + query.limit]
        stored = tuple(
            StoredLine(
                cursor=after + index + 1,
                run_number=1,
                rank=0,
                stream="stdout",
                time_ms=1_700_000_000_000,
                text=text,
            )
            for index, text in enumerate(shown)
        )
        ended = query.trial_id in self.ended and after + len(shown) == len(lines)
        return LogPage(lines=stored, next=after + len(shown), ended=ended)


async def with_trials(api: httpx.AsyncClient, others: Others, count: int) -> tuple[dict[str, Any], list[Any]]:
    made = await create(api)
    trials = [trial_changed(made, number) for number in range(1, count + 1)]
    await others.announce("searcher", DEFAULT_TENANT, *trials)

    async def shown() -> bool:
        found = await api.get(f"/v1/experiments/{made['id']}/trials")
        return len(found.json()["items"]) == count

    await eventually(shown)
    return made, trials


async def test_a_log_is_paged_and_followed_to_its_end(api: httpx.AsyncClient, others: Others) -> None:
    made, (trial,) = await with_trials(api, others, 1)
    log = Log()
    log.lines[trial.trial_id] = ["one", "two", "three"]
    others.say(GetLogs, log.page)
    path = f"/v1/trials/{made['number']}.1/logs"
    page = (await api.get(path, params={"limit": 2})).json()
    assert [line["text"] for line in page["items"]] == ["one", "two"]
    rest = (await api.get(path, params={"limit": 2, "cursor": page["next_cursor"]})).json()
    assert [line["text"] for line in rest["items"]] == ["three"]
    end = (await api.get(path, params={"limit": 2, "cursor": rest["next_cursor"]})).json()
    assert end == {"items": [], "next_cursor": None}
    async with events(api, f"{path}/follow", params={"tail": 1}) as stream:
        first = await stream.next()
        assert orjson.loads(first["data"])["text"] == "three"
        log.lines[trial.trial_id].append("four")
        await others.buses["registry"].hint(storage_hint(trial.trial_id, 4), DEFAULT_TENANT)
        assert orjson.loads((await stream.next())["data"])["text"] == "four"
        log.ended.add(trial.trial_id)
        assert (await stream.next())["event"] == "end"
    async with events(api, f"{path}/follow", headers={"Last-Event-ID": first["id"]}) as stream:
        assert orjson.loads((await stream.next())["data"])["text"] == "four"


async def test_a_page_without_lines_is_no_end_where_the_time_was_up(
    api: httpx.AsyncClient, others: Others
) -> None:
    made, (trial,) = await with_trials(api, others, 1)

    def look(ask: Any, query: GetLogs) -> LogPage:
        assert (query.pattern, query.since_ms) == ("rare", 1_767_225_600_000)
        line = StoredLine(cursor=12, run_number=1, rank=0, stream="stdout", time_ms=0, text="rare")
        return LogPage(lines=(line,) if query.after == 10 else (), next=min(query.after + 5, 12))

    others.say(GetLogs, look)
    for path in (f"/v1/trials/{made['number']}.1/logs", f"/v1/experiments/{made['number']}/logs"):
        params, texts = {"pattern": "rare", "since": "2026-01-01T00:00:00Z"}, list[str]()
        while True:
            page = (await api.get(path, params=params)).json()
            texts += [line["text"] for line in page["items"]]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
        assert texts == ["rare"]
    assert trial.number == 1


async def test_the_last_lines_are_looked_for_until_they_are_found(
    api: httpx.AsyncClient, others: Others
) -> None:
    """The registry answers before it has come to where they begin: it is asked again for those before."""
    made, _ = await with_trials(api, others, 1)
    asked: list[tuple[int, int | None, int | None]] = []

    def look(ask: Any, query: GetLogs) -> LogPage:
        asked.append((query.after, query.tail, query.before))
        if query.tail == 2:
            return LogPage(lines=(), next=0, tail=1, before=500)
        line = StoredLine(cursor=300, run_number=1, rank=0, stream="stdout", time_ms=0, text="rare")
        return LogPage(lines=(line,) if query.tail else (), next=800, ended=query.tail is None)

    others.say(GetLogs, look)
    path = f"/v1/trials/{made['number']}.1/logs"
    for shown in (path, f"/v1/experiments/{made['number']}/logs"):
        params: dict[str, Any] = {"contains": "rare", "tail": 2}
        texts = list[str]()
        while True:
            page = (await api.get(shown, params=params)).json()
            texts += [line["text"] for line in page["items"]]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
        assert (texts, asked) == (["rare"], [(0, 2, None), (0, 1, 500), (800, None, None)])
        asked.clear()
    async with events(api, f"{path}/follow", params={"contains": "rare", "tail": 2}) as stream:
        assert orjson.loads((await stream.next())["data"])["text"] == "rare"


def storage_hint(trial: UUID, cursor: int) -> Any:
    from shared.messages.base import Hint

    return Hint(entity="logs", id=trial, cursor=cursor)


async def test_an_experiments_log_is_that_of_its_trials(api: httpx.AsyncClient, others: Others) -> None:
    made, trials = await with_trials(api, others, 3)
    log = Log()
    for trial in trials:
        log.lines[trial.trial_id] = [f"{trial.number}.{index}" for index in range(3)]
        log.ended.add(trial.trial_id)
    others.say(GetLogs, log.page)
    texts: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = (await api.get(f"/v1/experiments/{made['number']}/logs", params=params)).json()
        texts += [line["text"] for line in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert texts == [f"{trial}.{index}" for trial in (1, 2, 3) for index in range(3)]
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 5, state="completed", final=True))
    followed: list[str] = []
    async with events(api, f"/v1/experiments/{made['number']}/logs/follow") as stream:
        while "data" in (block := await stream.next()) and block.get("event") != "end":
            followed.append(orjson.loads(block["data"])["text"])
    assert sorted(followed) == texts


async def test_a_search_names_trials_and_goes_on(api: httpx.AsyncClient, others: Others) -> None:
    made, (_, trial) = await with_trials(api, others, 2)
    asked: list[SearchLogs] = []

    def found(ask: Any, query: SearchLogs) -> FoundLines:
        asked.append(query)
        line = FoundLine(
            cursor=7, run_number=1, rank=2, stream="stdout", level="error", time_ms=1_700_000_000_000, text="CUDA",
            trial_id=trial.trial_id, experiment_id=made["id"],
        )  # fmt: skip
        return FoundLines(lines=() if query.after else (line,), next=None if query.after else "there")

    others.say(SearchLogs, found)
    wanted = {"pattern": "CU.A", "level": "warning", "experiment": made["number"], "since": "2026-01-01"}
    page = (await api.get("/v1/logs", params=wanted)).json()
    assert [(one["experiment_number"], one["trial_number"], one["text"]) for one in page["items"]] == [
        (made["number"], 2, "CUDA")
    ]
    rest = (await api.get("/v1/logs", params=wanted | {"cursor": page["next_cursor"]})).json()
    assert rest == {"items": [], "next_cursor": None}
    assert (asked[1].after, asked[1].level, str(asked[1].experiments)) == (
        "there",
        "warning",
        str((UUID(made["id"]),)),
    )
