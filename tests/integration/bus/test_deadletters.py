"""The operator's command on a real dead-letter stream: what died is shown, and replayed to the one service that could not handle it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from deploy.deadletters.commands import deadletters
from muster.errors import NotFound, Rejected
from shared.bus import Delivery, Unit
from shared.errors import Rejected as CannotHandle
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import SubmissionCommitted
from tests.integration.bus.parts import Environment, count, dead_letters, running, submission
from tests.integration.bus.relaying import Service, effect_of
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually


@pytest.fixture
def operator(servers: Servers, settings: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a shell that may act on this session's bus."""
    settings("searcher")
    monkeypatch.setenv("MUSTER_NATS__URL", servers.nats.url)
    monkeypatch.setenv("MUSTER_KEYS", str(servers.keys.directory))


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, deadletters, list(arguments))


async def listed() -> list[dict[str, Any]]:
    result = await run("list", "--json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@asynccontextmanager
async def failing(
    settings: Environment, tables: TestDatabase, mended: asyncio.Event
) -> AsyncIterator[Service]:
    """A searcher that refuses submissions until it is mended, and passes the others on; yields the sender."""
    handled = effect_of("searcher", emits=False)

    async def handle(unit: Unit, batch: list[Delivery[Any]]) -> None:
        if not mended.is_set():
            raise CannotHandle("bug", "it [is] not mended\nyet")
        await handled(unit, batch)

    searcher = Service(settings("searcher"), "searcher", "searcher", {SubmissionCommitted: handle})
    sender = Service(settings("gateway"), "gateway", "gateway", {})
    async with running(searcher), running(sender):
        await eventually(lambda: sender.ready)
        yield sender


async def test_a_letter_is_shown_replayed_once_and_gone(
    settings: Environment, tables: TestDatabase, servers: Servers, operator: None
) -> None:
    """Another consumer of the same event, which has handled it, does so once."""
    mended = asyncio.Event()
    registry = Service(
        settings("registry"),
        "registry",
        "searcher",
        {SubmissionCommitted: effect_of("searcher", emits=False)},
    )
    registry.environment = {
        **settings("searcher"),
        "MUSTER_NATS__CREDENTIALS": str(servers.keys.credentials("registry")),
    }
    assert await listed() == []
    async with running(registry), failing(settings, tables, mended) as sender:
        async with sender.units.tenant(DEFAULT_TENANT) as unit:
            sent = submission(unit.now)
            unit.emit(sent)

        async def both() -> bool:
            return len(await dead_letters(servers, "searcher")) == 1 and await count(tables, "searcher") == 1

        await eventually(both)
        [letter] = await listed()
        assert (letter["consumer"], letter["type"]) == ("searcher", SubmissionCommitted.TYPE)
        assert "it [is] not mended yet" in letter["error"]
        table = (await run("list")).output
        assert letter["message"] in table
        whole = json.loads((await run("show", str(letter["position"]), "--json")).stdout)
        assert whole["body"]["experiment_id"] == str(sent.experiment_id)

        mended.set()
        replayed = await run("replay", str(letter["position"]))
        assert "replayed" in replayed.output and letter["message"] in replayed.output

        async def handled_there() -> bool:
            return await count(tables, "searcher") == 2

        await eventually(handled_there)
        await asyncio.sleep(1)
        assert await count(tables, "searcher") == 2
        assert await listed() == []


async def test_what_dies_again_comes_back_and_can_be_dropped(
    settings: Environment, tables: TestDatabase, operator: None
) -> None:
    async with failing(settings, tables, asyncio.Event()) as sender:
        async with sender.units.tenant(DEFAULT_TENANT) as unit:
            unit.emit(submission(unit.now))

        async def one() -> bool:
            return len(await listed()) == 1

        await eventually(one, every_s=0.3)
        [first] = await listed()
        assert (await run("replay", "--all")).exit_code == 0

        async def back() -> bool:
            found = await listed()
            return len(found) == 1 and found[0]["position"] > first["position"]

        await eventually(back, every_s=0.3)
        [second] = await listed()
        assert second["message"] == first["message"]
        dropped = await run("drop", str(second["position"]), "--json")
        assert json.loads(dropped.stdout) == {"position": second["position"], "dropped": True}
        assert await listed() == []


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("show", "4711"), NotFound),
        (("drop", "4711"), NotFound),
        (("replay",), Rejected),
        (("replay", "1", "--all"), Rejected),
    ],
)
async def test_what_cannot_be_done_is_said(
    arguments: tuple[str, ...],
    kind: type[Exception],
    settings: Environment,
    tables: TestDatabase,
    operator: None,
) -> None:
    async with running(sender := Service(settings("gateway"), "gateway", "gateway", {})):
        await eventually(lambda: sender.ready)
        assert isinstance((await run(*arguments)).exception, kind)


async def test_without_the_operators_key_nothing_is_read(
    operator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_KEYS", str(tmp_path))
    failure = (await run("list")).exception
    assert isinstance(failure, Rejected)
    assert failure.code == "no_keys"
