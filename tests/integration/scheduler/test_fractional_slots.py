"""Parts of slots through the real service: shared by runs of one tenant, known to the next leader, counted as what they are."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.ids import DEFAULT_TENANT, TrialId
from shared.messages.queue import Explain, GetQueue, RequestClosed
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.usage import GetUsage
from tests.integration.scheduler.fake_worker import CLOCK
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

HALF = 500


async def test_halves_share_a_slot_and_the_next_leader_knows_what_is_left_of_it(around: Platform) -> None:
    first, second, third, whole = (new_trial() for _ in range(4))
    async with around.scheduler() as leader, around.worker("p1") as worker:
        await around.want(first, fraction=HALF)
        await around.want(second, fraction=400)
        await eventually(lambda: worker.running == {first, second})
        told = [(await around.heard(RunGranted, trial)).members[0] for trial in (first, second)]
        assert [(member.slots, member.fraction, member.slot_ids) for member in told] == [
            (1, HALF, (0,)),
            (1, 400, (0,)),
        ]
        await around.want(third, fraction=HALF)
        await eventually(
            lambda: leads_to(around, third, "waiting for 0.5 slots; 0 of 1 slot free in pool default")
        )
        page = await around.ask(GetQueue(), DEFAULT_TENANT)
        assert {(entry.trial_id, entry.slots, entry.fraction) for entry in page.entries} == {
            (first, 1, HALF), (second, 1, 400), (third, 1, HALF),
        }  # fmt: skip
        await leader.kill()
        async with around.scheduler():
            await worker.exit(first)
            await eventually(lambda: worker.running == {second, third})
            await around.want(whole)
            for trial in (second, third):
                await worker.exit(trial)
            await eventually(lambda: worker.running == {whole})
            await worker.exit(whole)
            await around.heard(RequestClosed, whole)
            assert worker.last_set is not None
            await halves_are_used_as_halves(around, {first: 0.5, second: 0.4, third: 0.5, whole: 1.0})


async def leads_to(around: Platform, trial: TrialId, beginning: str) -> bool:
    told = await around.ask(Explain(trial_id=trial), DEFAULT_TENANT)
    return str(told.message).startswith(beginning)


async def halves_are_used_as_halves(around: Platform, parts: dict[TrialId, float]) -> None:
    """Equals a count of our own, from what was told of grants and ends."""
    counted = 0.0
    for trial, part in parts.items():
        granted, ended = await around.heard(RunGranted, trial), await around.heard(RunEnded, trial)
        counted += part * (ended.ended_at - granted.granted_at).total_seconds()
    since, until = datetime(2026, 1, 1, tzinfo=UTC), CLOCK.now() + timedelta(days=1)
    page = await around.ask(GetUsage(by=("tenant",), since=since, until=until), DEFAULT_TENANT)
    (used,) = page.rows
    assert used.slot_seconds == pytest.approx(counted, abs=0.5)
    rows = await around.rows("SELECT slots FROM scheduler.usage_entry ORDER BY slots")
    assert [float(row["slots"]) for row in rows] == [0.4, 0.5, 0.5, 1.0], "kept as exact decimals"
