"""When an object store is called stuck: one partition of its index fails for a while, with space on the disk."""

import time
from collections.abc import Sequence

import pytest

from deploy.embedded.servers.s3 import free_space_on
from deploy.embedded.servers.s3_probe import (
    PARTITIONS,
    Failures,
    FreeSpace,
    ProbeTimes,
    StoreProbe,
    StoreWatch,
    StuckJudge,
    partition_of,
    probe_folders,
)
from tests.support.waiting import eventually

GB = 10**9
NONE: Failures = {}
SIX: Failures = {6: "PUT failed with status 500"}


def _is_stuck(rounds: Sequence[Failures], every_s: float = 2.0, stuck_after_s: float = 20.0) -> bool:
    judge = StuckJudge(stuck_after_s)
    for number, failures in enumerate(rounds):
        judge.observe(number * every_s, failures)
    return judge.is_stuck((len(rounds) - 1) * every_s)


@pytest.mark.parametrize(
    ("rounds", "is_stuck"),
    [
        ([NONE] * 30, False),
        ([SIX] * 10, False),
        ([SIX] * 11, True),
        ([*[SIX] * 10, NONE, *[SIX] * 10], False),
        ([*[SIX] * 9, {6: "other words"}, SIX], True),
        ([SIX, {5: "timed out"}] * 10, False),
        ([{5: "a", 6: "b"}, SIX] * 6, True),
    ],
)
def test_one_partition_must_fail_at_every_probe_for_long_enough(
    rounds: Sequence[Failures], is_stuck: bool
) -> None:
    assert _is_stuck(rounds) is is_stuck


def test_few_slow_probes_are_not_enough() -> None:
    assert not _is_stuck([SIX, SIX], every_s=60.0)


def test_a_restart_that_does_not_help_is_repeated_ever_later_until_the_store_has_worked() -> None:
    judge = StuckJudge(20.0)
    for failing_s in (20.0, 40.0, 80.0):
        judge.observe(0.0, SIX)
        judge.observe(failing_s / 2, SIX)
        judge.observe(failing_s - 1, SIX)
        assert not judge.is_stuck(failing_s - 1)
        assert judge.is_stuck(failing_s)
        judge.on_start()
    judge.observe(0.0, NONE)
    for now in (0.0, 10.0, 20.0):
        judge.observe(now, SIX)
    assert judge.is_stuck(20.0)


async def test_a_full_disk_is_named_and_nothing_that_failed_on_it_counts() -> None:
    times = ProbeTimes(every_s=0.0, again_s=0.0, stuck_after_s=20.0)
    watch = StoreWatch(StoreProbe("http://127.0.0.1:1", "muster", ("key", "secret")), times)
    await eventually(lambda: "no answer" in watch.check(time.monotonic(), FreeSpace.ENOUGH).trouble)
    now = time.monotonic() + 100.0
    assert "full" in watch.check(now, FreeSpace.NONE).trouble
    await eventually(lambda: "no answer" in watch.check(now, FreeSpace.ENOUGH).trouble)
    assert not watch.check(now, FreeSpace.ENOUGH).is_stuck


class _Failing(StoreProbe):
    """Fails in one partition, and counts its rounds."""

    def __init__(self) -> None:
        self.rounds = 0

    def run(self) -> Failures:
        self.rounds += 1
        return SIX


async def test_a_nearly_full_disk_is_probed_and_no_failure_counts() -> None:
    probe = _Failing()
    watch = StoreWatch(probe, ProbeTimes(every_s=0.0, again_s=0.0, stuck_after_s=20.0))

    async def is_stuck(now: float, room: FreeSpace) -> bool:
        """Whether it was called stuck during two more rounds."""
        last, found = probe.rounds + 2, []

        def is_over() -> bool:
            found.append(watch.check(now, room))
            return probe.rounds >= last

        await eventually(is_over)
        assert "PUT failed" in found[-1].trouble
        return any(health.is_stuck for health in found)

    for now in (0.0, 30.0, 60.0, 90.0, 120.0):
        assert not await is_stuck(now, FreeSpace.LITTLE)
    assert not await is_stuck(121.0, FreeSpace.ENOUGH)
    assert await is_stuck(150.0, FreeSpace.ENOUGH)


@pytest.mark.parametrize(
    ("free", "room"),
    [
        (9 * GB, FreeSpace.NONE),
        (10 * GB, FreeSpace.LITTLE),
        (19 * GB, FreeSpace.LITTLE),
        (20 * GB, FreeSpace.ENOUGH),
    ],
)
def test_a_disk_is_full_where_the_store_refuses_objects(free: int, room: FreeSpace) -> None:
    assert free_space_on(free, 1000 * GB) is room


def test_each_partition_has_a_folder() -> None:
    folders = probe_folders("muster")
    assert [partition_of(f"/buckets/muster/{folder}") for folder in folders] == list(range(PARTITIONS))
