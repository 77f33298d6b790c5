"""What the registry's `/metrics` shows of stored reports, and of checkpoints that came to nothing."""

from shared.ids import CheckpointId, new_id
from tests.integration.registry.messages import ended, report
from tests.integration.registry.platform import Platform, Registry
from tests.integration.registry.scheduling import CLOCK
from tests.integration.registry.uploads import fresh, manifest, tried
from tests.support.waiting import eventually

ABANDONED, CORRUPT = "muster_checkpoints_abandoned_total", "muster_checkpoints_corrupt_total"


async def test_what_is_stored_of_reports_counts_once(around: Platform, registry: Registry) -> None:
    run = around.scheduler.grant()
    before = registry.metrics()
    for _ in range(2):
        await around.reports(run, 1, [report(1, loss=1.0, accuracy=0.5), report(2, loss=0.5)])
    after = registry.metrics()
    records, points = ("muster_ingested_records_total", "muster_ingested_points_total")
    assert after.total(records, stream="reports") - before.total(records, stream="reports") == 2
    assert after.total(points) - before.total(points) == 3


async def test_checkpoints_of_a_lost_run_count_as_abandoned(around: Platform, registry: Registry) -> None:
    run = around.scheduler.grant()
    before = registry.metrics().total(ABANDONED, reason="fenced")
    for number in (1, 2):
        await around.upload(run, CheckpointId(new_id(CLOCK)), number, number, manifest(fresh()))
    await around.publish("scheduler", ended(run, "lost", checkpoints=None))
    await eventually(lambda: registry.metrics().total(ABANDONED, reason="fenced") == before + 2)


async def test_a_checkpoint_whose_bytes_never_fit_counts_as_corrupt(
    around: Platform, registry: Registry
) -> None:
    run, checkpoint, files = around.scheduler.grant(), CheckpointId(new_id(CLOCK)), fresh()
    before = registry.metrics().total(CORRUPT, reason="given_up")
    for _ in range(3):
        links = await around.upload(run, checkpoint, 1, 10, manifest(files), bound=False)
        await tried(links.files, files | {"small": b"as it was not announced"})
        committed = await around.commit(run, checkpoint)
    assert committed.state == "corrupt"
    assert registry.metrics().total(CORRUPT, reason="given_up") == before + 1
