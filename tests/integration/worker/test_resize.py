"""A run is resized while it trains: ranks that stay keep process and state, new ones join, a lost one is done without."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import WITH_TORCH, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.support.waiting import eventually

SCRIPT = """
import os, time, torch, muster, muster.elastic
trial = muster.trial()
torch.manual_seed(trial.seed)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
training = muster.elastic.Training(trial, model, optimizer, batch_size=12)
print("pid", os.getpid(), "rank", trial.rank, "of", trial.size)
inputs = torch.randn(12, 8)
targets = inputs.sum(1, keepdim=True)
for step in training.steps(100_000):
    with step:
        first = trial.rank * step.samples
        mine = slice(first, first + step.samples)
        loss = ((model(inputs[mine]) - targets[mine]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        whole = ((model(inputs) - targets) ** 2).mean().item()
        trial.report(step.number, loss=whole, size=trial.size, samples=step.samples, pid=os.getpid())
        time.sleep(0.02)
if trial.should_stop():
    with trial.checkpoint(training.number) as folder:
        torch.save(training.state_dict(), folder / f"state-{trial.rank}.pt")
weights = [round(float(value), 6) for value in model.weight.flatten()]
print("rank", trial.rank, "ended at", training.number, weights)
"""
TRAINER = """
import os, socket, time, torch, muster
from contextlib import suppress
from pathlib import Path
from muster.torch import Trainer, batches
from torch.utils.data import DataLoader, TensorDataset

def train_step(model, batch):
    inputs, targets = batch
    return ((model(inputs) - targets) ** 2).mean()

class Told(Trainer):
    def validate_step(self, model, batch):
        time.sleep(0.02)
        if trial.rank == 1 and Path("CUT").exists():
            Path("CUT").unlink()
            for descriptor, _ in trial._gang._collectives._sockets:
                with suppress(OSError):  # with the first that is cut Horovod closes the others
                    socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_RDWR)
        return {"loss": train_step(model, batch), "size": trial.size}

trial = muster.trial()
torch.manual_seed(trial.seed)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
print("pid", os.getpid(), "rank", trial.rank, "of", trial.size)
inputs = torch.randn(12, 8)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), 12)
told = Told(trial, model, optimizer, train_step)
rarely = {"validate_every": batches(1), "checkpoint_every": batches(50_000), "report_every": batches(50_000)}
told.fit(loader, loader, until=batches(3), **rarely)
optimizer.param_groups[0]["fits"] = 1 + optimizer.param_groups[0].get("fits", 0)  # who joins later has this from rank 0
told.fit(loader, loader, until=batches(100_000), **rarely)
weights = [round(float(value), 6) for value in model.weight.flatten()]
print("rank", trial.rank, "ended at", told.progress.step, weights, optimizer.param_groups[0]["fits"], "fits")
"""
RANGE = {"slots": {"min": 1, "max": 4}}


@pytest.fixture(scope="module")
async def two_workers(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> dict[str, Daemon]:
    """Workers r1 and r2."""
    workers = {name: daemons(name) for name in ("r1", "r2")}
    for worker in workers.values():
        worker.start(**WITH_TORCH)
    await eventually(lambda: workers.keys() <= set(platform.observed))
    return workers


def formed(run: DesiredAllocation, generation: int, *members: GangMember) -> DesiredAllocation:
    """The run with other members, as the scheduler wants it next."""
    return run.model_copy(update={"generation": generation, "members": members, "rendezvous": None})


def unbroken(steps: int) -> list[float]:
    """The losses of the script's training on one rank that nobody resizes."""
    torch.manual_seed(7)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.randn(12, 8)
    targets = inputs.sum(1, keepdim=True)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        ((model(inputs) - targets) ** 2).mean().backward()
        optimizer.step()
        losses.append(((model(inputs) - targets) ** 2).mean().item())
    return losses


async def form(platform: FakePlatform, run: DesiredAllocation, workers: tuple[str, ...]) -> DesiredAllocation:
    """Bring a run to new members as the scheduler does: wait until all are prepared, then say where they meet."""
    members = [str(member.worker) for member in run.members]
    for name in workers:
        await platform.desire(name, run)
    chief = members[0]

    def is_prepared() -> bool:
        found = [platform.of(name, run) for name in members]
        told = platform.of(chief, run)
        assert all(one is None or one.state != "exited" for one in found), platform.text(run)
        return (
            told is not None
            and told.rendezvous is not None
            and all(one and one.prepared == run.generation for one in found)
        )

    await eventually(is_prepared)
    met = run.model_copy(update={"rendezvous": platform.of(chief, run).rendezvous})  # type: ignore[union-attr]
    for name in workers:
        await platform.desire(name, met)

    def is_formed() -> bool:
        return all(
            one and one.joined == run.generation for one in (platform.of(name, run) for name in members)
        )

    try:
        await eventually(is_formed)
    except AssertionError as error:
        raise AssertionError(f"it did not form anew: {platform.text(run)}") from error
    return met


def sizes(platform: FakePlatform, run: DesiredAllocation) -> list[int]:
    """The number of ranks in the newest reports."""
    stored = platform.reports[run.run_id]
    return [int(stored[number].values["size"]) for number in sorted(stored)]


async def test_a_run_grows_and_shrinks_while_its_ranks_keep_process_and_state(
    platform: FakePlatform, two_workers: dict[str, Daemon], tmp_path: Path
) -> None:
    one, two = GangMember(worker="r1", slots=1), GangMember(worker="r2", slots=2)
    run = platform.allocation("resized", platform.add_code(code_in(tmp_path, SCRIPT)), (one,), spec=RANGE)
    await platform.desire("r1", run)
    await eventually(lambda: len(sizes(platform, run)) > 5)
    assert platform.of("r1", run).is_live  # type: ignore[union-attr]

    await form(platform, formed(run, 2, one, two), ("r1", "r2"))
    await eventually(lambda: sizes(platform, run)[-1] == 3)
    shrunk = formed(run, 3, one, GangMember(worker="r2", slots=1))
    await form(platform, shrunk, ("r1", "r2"))
    await eventually(lambda: sizes(platform, run)[-1] == 2)
    alone = formed(run, 4, one)
    alone = await form(platform, alone, ("r1", "r2"))
    await eventually(lambda: sizes(platform, run)[-1] == 1)
    await eventually(lambda: state_of(platform, run, "r2") == "exited")
    left = platform.of("r2", run)
    assert left is not None
    assert (left.exit_code, left.forced, left.fault) == (0, False, None)
    await platform.desire("r2")

    await platform.desire("r1", alone.model_copy(update={"signal": Signal.PAUSE}))
    await eventually(lambda: state_of(platform, run, "r1") == "exited")
    assert platform.of("r1", run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    stored = platform.reports[run.run_id]
    reports = [stored[number] for number in sorted(stored)]
    assert [report.step for report in reports] == list(range(1, len(reports) + 1))
    assert {int(report.values["pid"]) for report in reports} == {int(reports[0].values["pid"])}
    assert {(int(r.values["size"]), int(r.values["samples"])) for r in reports} == {(1, 12), (2, 6), (3, 4)}
    assert [report.values["loss"] for report in reports] == pytest.approx(
        unbroken(len(reports)), rel=1e-3, abs=1e-5
    )
    await eventually(lambda: len(platform.saved_of(run)) == 1)


async def test_what_is_left_of_a_gang_goes_on_without_a_rank_that_died_through_a_lost_connection_and_takes_another_in(
    platform: FakePlatform, two_workers: dict[str, Daemon], tmp_path: Path
) -> None:
    one, two = GangMember(worker="r1", slots=2), GangMember(worker="r2", slots=1)
    code = platform.add_code(code_in(tmp_path, TRAINER.replace("CUT", "cut")))
    run = platform.allocation("bereft", code, (one, two), spec=RANGE)
    cut = two_workers["r1"].directory / "runs" / str(run.run_id) / "code/cut"
    await platform.desire("r1", run)
    await platform.desire("r2", run)
    await eventually(lambda: (platform.of("r1", run) or run).rendezvous is not None)
    met = run.model_copy(update={"rendezvous": platform.of("r1", run).rendezvous})  # type: ignore[union-attr]
    await platform.desire("r2", met)
    await eventually(lambda: len(sizes(platform, run)) > 5)
    await eventually(lambda: "rank 2 of 3" in platform.text(run))
    found = re.search(r"pid (\d+) rank 2 of 3", platform.text(run))
    assert found is not None
    os.kill(two_workers["r2"].pid_of(run.run_id, int(found[1])), signal.SIGKILL)
    await eventually(lambda: state_of(platform, run, "r2") == "exited")
    await platform.desire("r2")
    await form(platform, formed(run, 2, one), ("r1",))
    await eventually(lambda: sizes(platform, run)[-1] == 2)
    cut.touch()
    await eventually(lambda: platform.of("r1", run).joined == 1)  # type: ignore[union-attr]
    await form(platform, formed(run, 3, one), ("r1",))
    many = len(platform.reports[run.run_id])
    await eventually(lambda: len(platform.reports[run.run_id]) > many + 5)
    stored = platform.reports[run.run_id]
    assert platform.text(run).count("pid") == 3, "a rank was started anew"
    losses = {report.step: report.values["loss"] for report in stored.values()}
    assert list(losses.values()) == pytest.approx(unbroken(len(losses)), rel=1e-3, abs=1e-5)

    grown = formed(run, 4, one, two)
    grown = await form(platform, grown, ("r1", "r2"))
    await eventually(lambda: sizes(platform, run)[-1] == 3)
    for name in ("r1", "r2"):
        await platform.desire(name, grown.model_copy(update={"signal": Signal.STOP}))
    for name in ("r1", "r2"):
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
    assert platform.of("r1", run).acknowledged is Signal.STOP, platform.text(run)  # type: ignore[union-attr]
    assert platform.of("r1", run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    await eventually(lambda: platform.text(run).count("ended at") == 3)
    ends = [line.split("ended at ")[1] for line in platform.text(run).splitlines() if "ended at" in line]
    assert len(set(ends)) == 1 and ends[0].endswith(" 1 fits"), platform.text(run)
