"""What a unit of work hands to its relay, on a database that stores nothing."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from shared.bus import Delivery, Envelope, Units
from shared.bus.units import OutboxRow
from shared.database.engine import Database
from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, ExperimentId, derived_id
from shared.messages.experiments import ExperimentChanged, SubmissionCommitted

NOW = datetime(2026, 1, 2, tzinfo=UTC)
EXPERIMENT = ExperimentId(derived_id(DEFAULT_TENANT, "an experiment"))
SUBMITTED = SubmissionCommitted(
    experiment_id=EXPERIMENT,
    number=1,
    name="a",
    workspace="w",
    project="p",
    owner="o",
    config={},
    submitted_at=NOW,
)
CAUSE = Delivery(SUBMITTED, Envelope(derived_id(EXPERIMENT, 1), SUBMITTED.TYPE, 1, DEFAULT_TENANT))


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class NoConnection:
    """SQLAlchemy's connection and the driver's beneath it in one."""

    def __init__(self) -> None:
        self.sync_connection = self.connection = self.driver_connection = self

    def begin_nested(self) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()

    async def fetch(self, *_: object) -> list[object]:
        return []


class NoDatabase:
    @asynccontextmanager
    async def tenant(self, _: object, __: object = None, ___: str = "") -> AsyncIterator[Any]:
        yield NoConnection()


class Hands:
    def __init__(self) -> None:
        self.rows: list[OutboxRow] = []

    def hand_over(self, rows: list[OutboxRow]) -> None:
        self.rows.extend(rows)


def changed(version: int, name: str = "active") -> ExperimentChanged:
    return ExperimentChanged(
        experiment_id=EXPERIMENT, version=version, number=1, state="active", started_at=NOW
    )


async def emitted(schema: str, *messages: ExperimentChanged, cause: Delivery[Any] = CAUSE) -> list[OutboxRow]:
    hands = Hands()
    async with Units(cast(Database, NoDatabase()), hands, schema, StoppedClock()).tenant(
        DEFAULT_TENANT
    ) as unit:
        for message in messages:
            unit.emit(message, cause=cause)
    return hands.rows


async def test_a_repeated_handler_repeats_its_ids() -> None:
    first, again = (
        await emitted("searcher", changed(1), changed(2)),
        await emitted("searcher", changed(1), changed(2)),
    )
    assert [row.id for row in first] == [row.id for row in again]
    assert len({row.id for row in first}) == 2


async def test_two_services_that_answer_one_event_give_different_ids() -> None:
    """Else the stream would take the second for a repeat of the first, and drop it."""
    searcher, registry = await emitted("searcher", changed(1)), await emitted("registry", changed(1))
    assert searcher[0].id != registry[0].id


async def test_a_message_that_the_bus_would_never_take_is_refused_before_the_commit() -> None:
    huge = SUBMITTED.model_copy(update={"config": {"note": "x" * 1_100_000}})
    hands = Hands()
    with pytest.raises(Rejected, match="at most") as refusal:
        async with Units(cast(Database, NoDatabase()), hands, "gateway", StoppedClock()).tenant(
            DEFAULT_TENANT
        ) as unit:
            unit.emit(huge)
    assert refusal.value.code == "message_too_large"
    assert hands.rows == []


async def test_messages_of_a_failed_attempt_are_not_published() -> None:
    hands = Hands()
    async with Units(cast(Database, NoDatabase()), hands, "gateway", StoppedClock()).tenant(
        DEFAULT_TENANT
    ) as unit:
        unit.emit(changed(1))
        with contextlib.suppress(KeyError):
            async with unit.attempt():
                unit.emit(changed(2))
                raise KeyError
        unit.emit(changed(3))
    assert len(hands.rows) == 2 and not any(b'"version":2' in row.payload for row in hands.rows)
