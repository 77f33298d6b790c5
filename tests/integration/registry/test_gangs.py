"""Checkpoints of gangs: each machine sends its part, and rank 0's says what is whole."""

import pytest

from shared.errors import Rejected
from shared.ids import CheckpointId, TrialId, WorkerId, new_id
from shared.messages.checkpoints import CommitCheckpoint, Committed, ListCheckpoints, Upload
from shared.messages.phases import GetPhases, PhaseRecord, ReportPhases, RunPhases, TrialPhases
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK
from tests.integration.registry.uploads import manifest, send

pytestmark = pytest.mark.usefixtures("registry")


async def test_a_gang_s_checkpoint_waits_for_every_part(around: Platform) -> None:
    run = around.scheduler.grant(members=(WorkerId("w-1"), WorkerId("w-2")))
    checkpoint = CheckpointId(new_id(CLOCK))
    parts = {"w-1": {"rank0.pt": b"zero"}, "w-2": {"rank1.pt": b"one"}}
    commit = CommitCheckpoint(run_id=run.id, checkpoint_id=checkpoint, after_report=0)
    for (worker, files), state in zip(parts.items(), ("uploading", "saved"), strict=True):
        upload = Upload(
            run_id=run.id,
            checkpoint_id=checkpoint,
            number=1,
            step=10,
            files=tuple(manifest(files)),
            parts=(WorkerId("w-1"), WorkerId("w-2")),
        )
        links = await around.insist(upload, worker)
        await send(links.files, files)
        # The first is done before the second is heard of: the announcement said that there is one.
        committed = await around.insist(commit, worker)
        assert isinstance(committed, Committed)
        assert committed.state == state
    assert (await around.insist(commit, "w-1")).state == "saved"
    page = await around.ask(ListCheckpoints(checkpoint_id=checkpoint))
    assert [file.path for file in page.checkpoints[0].files] == ["rank0.pt", "rank1.pt"]


async def test_a_machine_that_lost_its_part_changes_no_checkpoint_of_its_gang(around: Platform) -> None:
    """It trains on in the generation before, and sends a checkpoint under a number that the gang uses again."""
    chief, lost = WorkerId("w-1"), WorkerId("w-2")
    run = around.scheduler.grant(members=(chief, lost))
    checkpoint = CheckpointId(new_id(CLOCK))
    commit = CommitCheckpoint(run_id=run.id, checkpoint_id=checkpoint, after_report=0)

    async def announce(worker: WorkerId, step: int, parts: tuple[WorkerId, ...]) -> str:
        files = {f"{worker}.pt": worker.encode()}
        entries = tuple(manifest(files))
        upload = Upload(
            run_id=run.id, checkpoint_id=checkpoint, number=7, step=step, files=entries, parts=parts
        )
        links = await around.insist(upload, worker)
        await send(links.files, files)
        return str((await around.insist(commit, worker)).state)

    assert await announce(lost, 70, (chief, lost)) == "uploading", "nothing is whole without rank 0's word"
    assert await announce(lost, 70, (lost,)) == "uploading"
    assert await announce(chief, 80, (chief,)) == "saved"
    [kept] = (await around.ask(ListCheckpoints(checkpoint_id=checkpoint))).checkpoints
    assert (kept.step, [file.path for file in kept.files]) == (80, ["w-1.pt"])


async def test_phases_of_a_gangs_runs_are_those_of_its_chief_and_told_twice_they_count_once(
    around: Platform,
) -> None:
    first = around.scheduler.grant(members=(WorkerId("w-1"), WorkerId("w-2")))
    second = around.scheduler.grant(first)
    prepare = PhaseRecord(kind="prepare", began_ms=1_000, ended_ms=3_000)
    fetch = PhaseRecord(kind="fetch_code", began_ms=1_500, ended_ms=2_500)
    write = PhaseRecord(kind="write_checkpoint", number=1, step=50, began_ms=9_000, ended_ms=9_400)
    told = ReportPhases(run_id=first.id, phases=(prepare, fetch))
    for phases in (told, told, ReportPhases(run_id=first.id, phases=(write,))):
        await around.insist(phases)
    await around.insist(ReportPhases(run_id=second.id, phases=(fetch,)))
    await around.insist(
        ReportPhases(run_id=first.id, phases=(prepare.model_copy(update={"ended_ms": 8_000}),)), "w-2"
    )
    with pytest.raises(Rejected, match="not a member"):
        await around.insist(ReportPhases(run_id=second.id, phases=(prepare,)), "w-2")
    unknown = TrialId(new_id(CLOCK))
    found = await around.ask(GetPhases(trials=(unknown, first.trial)))
    assert found.trials == (
        TrialPhases(trial_id=unknown, runs=()),
        TrialPhases(
            trial_id=first.trial,
            runs=(
                RunPhases(run_number=1, phases=(prepare, fetch, write)),
                RunPhases(run_number=2, phases=(fetch,)),
            ),
        ),
    )
    assert (await around.ask(GetPhases(trials=(first.trial,)), OTHER_TENANT)).trials[0].runs == ()


async def test_an_upload_that_waits_is_told_until_its_end_or_until_its_checkpoint_is_decided_on(
    around: Platform,
) -> None:
    """The first is told to be over, the second is decided on without its worker's word, of the third nothing is known here."""
    run = around.scheduler.grant()
    waits = [
        PhaseRecord(
            kind="upload_checkpoint",
            number=n,
            step=n,
            began_ms=n * 1_000,
            ended_ms=9_000,
            waits_for="status 500",
        )
        for n in (1, 2, 3)
    ]
    await around.insist(ReportPhases(run_id=run.id, phases=tuple(waits)))
    assert await _told(around, run.trial) == tuple(waits)
    over = PhaseRecord(kind="upload_checkpoint", number=1, step=1, began_ms=1_000, ended_ms=20_000)
    await around.insist(ReportPhases(run_id=run.id, phases=(over,)))
    checkpoint, files = CheckpointId(new_id(CLOCK)), {"a": b"1"}
    links = await around.upload(run, checkpoint, 2, 2, manifest(files))
    assert (await _told(around, run.trial))[1] == waits[1]
    await send(links.files, files)
    assert (await around.commit(run, checkpoint)).state == "saved"
    first, second, third = await _told(around, run.trial)
    assert (first, third) == (over, waits[2])
    assert second.waits_for is None and second.ended_ms > waits[1].ended_ms


async def _told(around: Platform, trial: TrialId) -> tuple[PhaseRecord, ...]:
    [found] = (await around.ask(GetPhases(trials=(trial,)))).trials
    return tuple(phase for one in found.runs for phase in one.phases)
