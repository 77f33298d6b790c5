"""Questions and answers over the real bus, also when who answers is about to end."""

import asyncio

from shared.bus import Bus, RequestContext, Responder
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import GetReferences, Referenced
from tests.integration.bus.parts import Environment
from tests.integration.servers import Servers
from tests.support.waiting import TIMEOUT_S, eventually

ANSWER = Referenced(checkpoints=frozenset())


async def test_questions_that_have_arrived_are_answered_before_the_end(
    settings: Environment, servers: Servers
) -> None:
    settings("searcher")

    async def answer(ask: RequestContext, query: GetReferences) -> Referenced:
        await asyncio.sleep(0.1)
        return ANSWER

    async with (
        await Bus.connect(servers.nats.url, "gateway", servers.keys.credentials("gateway")) as asking,
        await Bus.connect(servers.nats.url, "searcher", servers.keys.credentials("searcher")) as answering,
    ):
        async with Responder(answering, "searcher", {GetReferences: answer}, limit=1):
            sent = asking.client.stats["out_msgs"]
            questions = [
                asyncio.create_task(asking.ask(GetReferences(checkpoints=()), DEFAULT_TENANT, TIMEOUT_S))
                for _ in range(12)
            ]
            await eventually(lambda: asking.client.stats["out_msgs"] == sent + 12)
            # Past the server, then past its queue to who answers.
            await asking.flush()
            await answering.flush()
        assert await asyncio.gather(*questions) == [ANSWER] * 12
