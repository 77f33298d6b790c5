"""A small process on the skeleton, started by test_process.py; it tells on standard output what happens to it."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from shared.errors import Transient
from shared.runtime.process import ServiceProcess, run
from shared.settings import ServiceSettings


def say(words: str) -> None:
    print(words, flush=True)


@asynccontextmanager
async def part(name: str) -> AsyncIterator[None]:
    try:
        yield
    finally:
        say(f"closed the {name}")


class Consumer:
    """Takes work until it is stopped, then finishes what is in hand."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        await self._stopped.wait()
        await asyncio.sleep(0.05)
        say("finished the batch")

    async def stop(self) -> None:
        say("stopped fetching")
        self._stopped.set()


class Relay:
    """Empties the outbox when it is stopped."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        await self._stopped.wait()

    async def stop(self) -> None:
        say("flushed the outbox")
        self._stopped.set()


async def crash() -> None:
    await asyncio.sleep(0.05)
    raise RuntimeError("the index is corrupt")


async def ask(answers: Iterator[str]) -> str:
    if (answer := next(answers)) == "no":
        raise Transient("the database does not answer")
    return answer


async def stay() -> None:
    """Loses its first cancellation, as nats-py does when an answer has just come."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("lost a cancellation")
    await asyncio.Event().wait()


async def probe(mode: str) -> str | None:
    return "no leader for the stream" if mode == "unready" else None


async def compose(_: ServiceSettings, process: ServiceProcess) -> None:
    await process.enter(part("database"))
    await process.enter(part("bus"))
    mode = os.environ["MODE"]
    if mode == "late server":
        answers = iter(("no", "no", "yes"))
        say(f"was answered {await process.reach('database', lambda: ask(answers))}")
    if mode == "refuse":
        raise Transient("the database does not answer")
    if mode in ("stay", "stay and crash"):
        process.start("stayer", stay)
    if mode in ("crash", "stay and crash"):
        process.start("index", crash)
    relayed = Relay()
    process.start("relay", relayed.run, stop=relayed.stop)
    consumer = Consumer()
    process.start("consumer", consumer.run, stop=consumer.stop)
    process.check("bus", partial(probe, mode))
    process.mark_ready()


if __name__ == "__main__":
    run("tester", ServiceSettings, compose)
