"""Ranks of a real gang measure their gradients, and the heartbeat tells what they found."""

from pathlib import Path

import pytest

from shared.messages.allocations import StepMeasurement
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

TWO = (GangMember(worker="w1", slots=2),)
RANGE = {"slots": {"min": 1, "max": 4}}

SCRIPT = """
import muster, muster.elastic, torch
trial = muster.trial()
import horovod.torch as hvd
SIZE, BATCH, DEVIATION = 400, 64, 4.0      # the true gradient is 0.5 everywhere: the noise scale is (4 / 0.5)^2 = 64
torch.manual_seed(trial.rank)
weights = torch.nn.Parameter(torch.zeros(SIZE))
plain = torch.optim.SGD([weights], lr=1e-9)
optimizer = hvd.DistributedOptimizer(plain, named_parameters=[("weights", weights)])
elastic = muster.elastic.Elastic(trial, [weights], batch_size=BATCH, max_batch_size=1024)
assert elastic.per_rank == 32
for step in range(1, 1_000_000):
    optimizer.zero_grad()
    noise = torch.randn(elastic.per_rank, SIZE).mean(0) * DEVIATION
    ((noise + 0.5) * weights).sum().backward()
    optimizer.step()
    elastic.after_step()
    if step % 50 == 0:
        trial.report(step, samples=elastic.noise.samples)
    if trial.should_stop():
        break
print("chose", elastic.choose_batch(), "for rank", trial.rank)
"""

PLAIN = """
import muster, time
trial = muster.trial()
for step in range(1, 1_000_000):
    time.sleep(0.05)
    trial.report(step, loss=1.0)
    if trial.should_stop():
        break
"""


async def measured(platform: FakePlatform, run: object) -> StepMeasurement:
    def said() -> StepMeasurement | None:
        found = platform.of("w1", run)  # type: ignore[arg-type]
        assert found is None or found.state != "exited", platform.text(run)  # type: ignore[arg-type]
        return found.measured if found else None

    await eventually(lambda: said() is not None)
    told = said()
    assert told is not None
    return told


def code(platform: FakePlatform, tmp_path: Path, script: str) -> str:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(script)
    return platform.add_code(folder)


async def test_ranks_that_train_by_horovod_find_the_noise_of_their_gradients(
    platform: FakePlatform, torch_worker: Daemon, tmp_path: Path
) -> None:
    run = platform.allocation("noisy", code(platform, tmp_path, SCRIPT), TWO, spec=RANGE)
    await platform.desire("w1", run)
    told = await measured(platform, run)
    assert told.batches is not None
    assert (told.batches.per_slot, told.batches.first, told.batches.last) == (32, 64, 1024)
    assert 0 < told.step_s < 60
    samples = told.batches.first * told.batches.grad_var / told.batches.grad_sqr
    assert samples == pytest.approx(64, rel=0.5)
    await platform.desire("w1", run.model_copy(update={"signal": Signal.PAUSE}))
    await eventually(lambda: platform.text(run).count("for rank") == 2)
    chosen = {line.split()[1] for line in platform.text(run).splitlines() if line.startswith("chose")}
    assert len(chosen) == 1


async def test_a_script_that_says_nothing_shows_how_long_its_steps_take(
    platform: FakePlatform, torch_worker: Daemon, tmp_path: Path
) -> None:
    run = platform.allocation("shown", code(platform, tmp_path, PLAIN), TWO[:1], spec=RANGE)
    run = run.model_copy(update={"members": (GangMember(worker="w1", slots=1),)})
    rigid = platform.allocation("rigid", run.spec.code_hash or "", run.members) if run.spec else run
    await platform.desire("w1", run, rigid)
    told = await measured(platform, run)
    assert told.batches is None and told.step_s >= 0.05
    assert platform.of("w1", rigid) is not None
    assert platform.of("w1", rigid).measured is None  # type: ignore[union-attr]
    await platform.desire("w1")
