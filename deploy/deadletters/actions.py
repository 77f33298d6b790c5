"""Implements `muster deadletters` with the operator's bus credentials."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from nats.js import JetStreamContext
from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deploy.deadletters.stream import (
    DeadLetter,
    Replayed,
    drop,
    load_dead_letter,
    load_dead_letters,
    replay,
    select,
)
from deploy.embedded.operator_bus import with_jetstream
from muster.errors import Rejected
from shared.clock import SystemClock

_EVERY = 100_000
_ID_WIDTH = 36
_WIDE = 250
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def show_all(consumer: str | None, limit: int, *, as_json: bool) -> None:
    """Print dead letters, oldest first."""
    found = with_jetstream(lambda stream: load_dead_letters(stream, consumer, limit))
    if as_json:
        print(json.dumps([dead_letter.summary() for dead_letter in found]))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    if not found:
        console.print("no dead letters" + (f" of {consumer}" if consumer else ""))
        return
    console.print(_table(found, SystemClock().now()))
    console.print(
        "`muster deadletters show POSITION` shows details. Fix the cause of the error, then `replay` or `drop` the dead letter.",
        soft_wrap=True,
    )


def show_one(position: int, *, as_json: bool) -> None:
    """Print a dead letter with headers and body."""
    dead_letter = with_jetstream(lambda stream: load_dead_letter(stream, position))
    if as_json:
        print(json.dumps(dead_letter.whole()))
        return
    console = Console(highlight=False)
    facts: dict[str, JsonValue] = {**dead_letter.summary(), **dead_letter.headers}
    for name, value in facts.items():
        console.print(f"{name}: {value}", soft_wrap=True, markup=False)
    console.print(json.dumps(dead_letter.body(), indent=2), soft_wrap=True, markup=False)


def replay_all(positions: Sequence[int], every: bool, consumer: str | None, *, as_json: bool) -> None:
    """Replay dead letters one by one, and print each result."""

    async def work(stream: JetStreamContext) -> None:
        for dead_letter in await _choose(stream, positions, every, consumer):
            done = await replay(stream, dead_letter)
            print(json.dumps(asdict(done)) if as_json else _describe(done, dead_letter), flush=True)

    with_jetstream(work)


def drop_all(positions: Sequence[int], every: bool, consumer: str | None, *, as_json: bool) -> None:
    """Delete dead letters, and print each."""

    async def work(stream: JetStreamContext) -> None:
        for dead_letter in await _choose(stream, positions, every, consumer):
            await drop(stream, dead_letter.position)
            message = f"dropped {dead_letter.position}: {dead_letter.type} {dead_letter.message} of {dead_letter.consumer}; {dead_letter.consumer} will never process it"
            print(
                json.dumps({"position": dead_letter.position, "dropped": True}) if as_json else message,
                flush=True,
            )

    with_jetstream(work)


async def _choose(
    stream: JetStreamContext, positions: Sequence[int], every: bool, consumer: str | None
) -> list[DeadLetter]:
    """Return the selected dead letters. Raises Rejected unless either positions or --all are given."""
    if every == bool(positions):
        raise Rejected(
            "selection_required",
            "no dead letters were selected" if not every else "positions and --all cannot be combined",
            hint="pass positions from `muster deadletters list`, or --all",
        )
    if every:
        return await load_dead_letters(stream, consumer, _EVERY)
    return select([await load_dead_letter(stream, position) for position in positions], positions)


def _describe(done: Replayed, dead_letter: DeadLetter) -> str:
    where = f"{done.position}: {dead_letter.type} {done.message} to {done.subject}"
    if done.repeated:
        return f"already replayed {where}; it is message {done.sequence} of {done.stream}"
    left = "" if done.removed else "; the dead letter stays, because this stream does not allow deletion"
    return f"replayed {where}as message {done.sequence} of {done.stream}{left}; if {dead_letter.consumer} fails again, the message returns to `list`"


def _table(found: Sequence[DeadLetter], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("position", "age"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("consumer", "type"):
        table.add_column(name, overflow="fold")
    table.add_column("message", no_wrap=True, min_width=_ID_WIDTH)
    table.add_column("error", overflow="fold")
    for dead_letter in found:
        age = _age(now - dead_letter.died_at) if dead_letter.died_at else ""
        table.add_row(
            str(dead_letter.position),
            age,
            dead_letter.consumer,
            dead_letter.type,
            dead_letter.message,
            escape(dead_letter.error),
        )
    return table


def _age(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "now"
