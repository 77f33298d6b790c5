"""The first digest that a run resolves for an image counts for all runs of its experiment."""

import asyncio

import pytest

from muster.errors import Rejected
from shared.ids import WorkerId
from shared.messages.images import PinImage
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import Run

pytestmark = pytest.mark.usefixtures("registry")
IMAGE = "ghcr.io/team/train:1"
BOTH = (WorkerId("w-1"), WorkerId("w-2"))


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


async def pinned(
    around: Platform, run: Run, resolved: int | None = None, worker: str = "w-1", image: str = IMAGE
) -> str | None:
    query = PinImage(run_id=run.id, image=image, resolved=digest(resolved) if resolved else None)
    found: str | None = (await around.insist(query, worker)).digest
    return found


async def test_the_first_digest_counts_for_all_runs_and_trials_of_the_experiment(around: Platform) -> None:
    run = around.scheduler.grant()
    assert await pinned(around, run) is None
    assert await pinned(around, run, 1) == digest(1)
    assert await pinned(around, run, 2) == digest(1)
    later = around.scheduler.grant(run)
    trial = around.scheduler.grant(experiment=run.experiment)
    assert [await pinned(around, one) for one in (later, trial)] == [digest(1)] * 2
    assert await pinned(around, trial, 3) == digest(1)
    assert await pinned(around, run, 4, image="ghcr.io/team/train:cpu") == digest(4)
    assert await pinned(around, around.scheduler.grant()) is None


async def test_members_that_resolve_at_the_same_time_get_one_answer(around: Platform) -> None:
    for _ in range(10):
        run = around.scheduler.grant(members=BOTH)
        other = around.scheduler.grant(experiment=run.experiment)
        asked = ((run, 1, "w-1"), (run, 2, "w-2"), (other, 3, "w-1"))
        found = await asyncio.gather(*(pinned(around, one, number, worker) for one, number, worker in asked))
        assert len(set(found)) == 1, found


async def test_only_members_of_a_running_run_resolve_its_image(around: Platform) -> None:
    run = around.scheduler.grant()
    with pytest.raises(Rejected, match="not a member"):
        await pinned(around, run, 1, "w-2")
    assert await pinned(around, run) is None
    other = around.scheduler.grant(tenant=OTHER_TENANT)
    assert await pinned(around, other, 2) == digest(2)
    assert await pinned(around, run) is None
