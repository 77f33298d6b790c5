"""Usage adds up: what the scheduler tells equals a count of its own made from grants and releases, for whom it was and no other."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from shared.ids import DEFAULT_TENANT, SITE, TenantId, TrialId, new_id
from shared.messages.queue import RequestClosed
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.usage import GetUsage, SlotUsageRow
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, FakeWorker
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

START = datetime(2026, 1, 1, tzinfo=UTC)
FUTURE = timedelta(days=1)
WHOM = {"vision": "ada", "speech": "grace"}


def asked(*by: str, since: datetime = START, until: datetime | None = None, **more: object) -> GetUsage:
    until = until or CLOCK.now() + FUTURE
    return GetUsage.model_validate({"by": by, "since": since, "until": until, **more})


async def test_usage_equals_an_independent_count(around: Platform) -> None:
    async with around.scheduler(), around.worker("u1", slots=2) as one, around.worker("u2", slots=2) as two:
        await eventually(lambda: len(around.told(WorkerJoined)) >= 2)
        trials = {workspace: new_trial() for workspace in WHOM}
        counted: dict[str, float] = {}
        for (workspace, trial), slots in zip(trials.items(), (4, 2), strict=True):
            await around.want(trial, slots=slots, workspace=workspace, owner=WHOM[workspace])
            await runs_somewhere((one, two), trial)
            for each in (one, two):
                if trial in each.running:
                    await each.exit(trial)
            await around.heard(RequestClosed, trial)
            granted, ended = await around.heard(RunGranted, trial), await around.heard(RunEnded, trial)
            counted[workspace] = slots * (ended.ended_at - granted.granted_at).total_seconds()
        page = await around.ask(asked("workspace", "user"), DEFAULT_TENANT)
        told = {(used.workspace, used.user): used.slot_seconds for used in page.rows}
        assert told == {
            (workspace, WHOM[workspace]): pytest.approx(seconds, abs=0.5)
            for workspace, seconds in counted.items()
        }
        await it_is_told_by_period_key_and_page(around)
        await it_is_told_what_it_cost(around)
        await it_is_told_by_day(around)


async def it_is_told_by_period_key_and_page(around: Platform) -> None:
    rows = await around.rows(
        "SELECT worker, pool, slots, since, until FROM scheduler.usage_entry ORDER BY since, worker"
    )
    assert [row["worker"] for row in rows[:2]] == ["u1", "u2"], "one usage entry for each member"
    first = rows[0]
    middle = first["since"] + (first["until"] - first["since"]) / 2
    begin = await one_row(around, asked("pool", until=middle))
    assert begin.slot_seconds == pytest.approx(
        sum(
            float(row["slots"]) * (middle - row["since"]).total_seconds()
            for row in rows
            if row["since"] < middle
        )
    )
    rest, whole = (await one_row(around, asked("pool", since=middle))), await one_row(around, asked("pool"))
    assert begin.slot_seconds + rest.slot_seconds == pytest.approx(whole.slot_seconds)
    first_page = await around.ask(asked("workspace", limit=1), DEFAULT_TENANT)
    assert [used.workspace for used in first_page.rows] == ["speech"]
    last_page = await around.ask(asked("workspace", limit=1, after=first_page.next), DEFAULT_TENANT)
    assert ([used.workspace for used in last_page.rows], last_page.next) == (["vision"], None)
    stranger = await around.ask(asked("tenant"), TenantId(new_id(CLOCK)))
    assert stranger.rows == (), "a tenant sees its own only"
    site = await around.ask(asked("tenant"), SITE)
    assert {used.tenant: used.slot_seconds for used in site.rows} == {
        DEFAULT_TENANT: pytest.approx(whole.slot_seconds)
    }


async def it_is_told_what_it_cost(around: Platform) -> None:
    """Of what had a price; and how much had none."""
    await around.rows(
        "UPDATE scheduler.usage_entry SET price_per_slot_hour = 36 WHERE workspace = 'vision' RETURNING 1"
    )
    page = await around.ask(asked("workspace"), DEFAULT_TENANT)
    speech, vision = page.rows
    assert vision.cost == pytest.approx(vision.slot_seconds / 100) and vision.unpriced_slot_seconds == 0
    assert (speech.cost, speech.unpriced_slot_seconds) == (0, pytest.approx(speech.slot_seconds))


async def it_is_told_by_day(around: Platform) -> None:
    """What was held over midnight counts in both days, each for its part; a day's end belongs to the next."""
    midnight = CLOCK.now().replace(hour=0, minute=0, second=0, microsecond=0) - FUTURE
    await around.rows(
        "UPDATE scheduler.usage_entry SET price_per_slot_hour = 36, slots = 1, since = $1, until = $2 RETURNING 1",
        midnight - timedelta(hours=2),
        midnight,
    )
    whole = await one_row(around, asked("pool"))
    yesterday = (midnight - timedelta(hours=1)).date()
    page = await around.ask(asked("day", "workspace"), DEFAULT_TENANT)
    assert {used.day for used in page.rows} == {yesterday}
    await around.rows(
        "UPDATE scheduler.usage_entry SET until = $1 RETURNING 1", midnight + timedelta(minutes=30)
    )
    page = await around.ask(asked("day"), DEFAULT_TENANT)
    assert [(used.day, used.slot_seconds / whole.slot_seconds) for used in page.rows] == [
        (yesterday, 1.0),
        (midnight.date(), 0.25),
    ]
    assert page.rows[1].cost == pytest.approx(page.rows[1].slot_seconds / 100)
    late = midnight - timedelta(minutes=30)
    page = await around.ask(asked("day", since=late, until=midnight + timedelta(minutes=15)), DEFAULT_TENANT)
    assert [used.slot_seconds / whole.slot_seconds for used in page.rows] == [0.25, 0.125], (
        "days are cut by the period too"
    )


async def test_what_is_held_counts_up_to_now_and_on_through_the_next_leader(around: Platform) -> None:
    trial = new_trial()
    async with around.scheduler() as leader, around.worker("u3") as worker:
        await around.want(trial, workspace="open", owner="alan")
        await eventually(lambda: trial in worker.running)
        granted_at = (await around.heard(RunGranted, trial)).granted_at

        async def used() -> float:
            page = await around.ask(asked("workspace"), DEFAULT_TENANT)
            return float(sum(used.slot_seconds for used in page.rows if used.workspace == "open"))

        def since_grant() -> float:
            return (CLOCK.now() - granted_at).total_seconds()

        before, told, after = since_grant(), await used(), since_grant()
        assert before <= told <= after
        await leader.kill()
        await worker.exit(trial)
        exited = since_grant()
        async with around.scheduler():
            await eventually(lambda: around.told(RequestClosed, trial))
            closed = since_grant()
            told = await used()
            assert exited <= told <= closed, "the slots were free when the next leader had heard it"
            assert await used() == told


async def runs_somewhere(workers: Sequence[FakeWorker], trial: TrialId) -> None:
    await eventually(lambda: any(trial in each.running for each in workers))


async def one_row(around: Platform, query: GetUsage) -> SlotUsageRow:
    page = await around.ask(query, DEFAULT_TENANT)
    used: SlotUsageRow
    (used,) = page.rows
    return used
