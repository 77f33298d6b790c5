"""Every way of training together, by real processes of several workers: one contract for gangs, and what launchers of one's own meet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.config.optimizations import Distributed
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import WITH_TORCH, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.support.waiting import eventually

MEMBERS = (GangMember(worker="d1", slots=2), GangMember(worker="d2", slots=1))

CONTRACT = """
import math, os, pickle, sys, muster
from pathlib import Path
trial = muster.trial()
import torch
# The warm parent has imported what the first optimizer asks for, and lies in few pages: both are this fork's (decision 0223).
assert "torch._dynamo" in sys.modules
large = Path("/sys/kernel/mm/transparent_hugepage/enabled")
if large.exists() and "[never]" not in large.read_text():
    found = Path("/proc/self/smaps_rollup").read_text().split("AnonHugePages:")[1]
    assert int(found.split()[0]) > 32 * 1024, found
gang, exchange = trial._gang, trial._gang._collectives
assert (trial.size, gang.size, exchange.size) == (3, 3, 3)
assert os.environ["HOROVOD_CACHE_CAPACITY"] == "512"  # Horovod is told what the config says
assert (trial.rank, trial.local_rank) == (gang.rank, gang.local_rank)
assert exchange.local_size == (2 if trial.rank < 2 else 1)
assert trial.local_rank == (0, 1, 0)[trial.rank]
assert gang.number("test", 7 + trial.rank) == 7
assert math.isclose(gang.mean("test", float(trial.rank)), 1.0)
assert exchange.gather({"rank": trial.rank}, "test") == [{"rank": 0}, {"rank": 1}, {"rank": 2}]
for root in range(3):
    got = exchange.broadcast(torch.full((3,), float(trial.rank)), root, "test.broadcast")
    assert got.tolist() == [float(root)] * 3
assert exchange.total(torch.tensor([1, trial.rank]), "test.total").tolist() == [3, 3]

torch.manual_seed(trial.rank)  # ranks begin unlike each other: one of them must be taken
model = torch.nn.Linear(4, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
net, optimizer = trial.distribute(model, optimizer)
first = exchange.gather(model.weight.tolist(), "test.first")
assert first[0] == first[1] == first[2]
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
for step in range(4):
    net(torch.full((1, 4), float(trial.rank))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
# The ranks' gradients are 0, 1 and 2 everywhere: their mean is 1, twice gathered over two passes each and divided by two.
moved = (torch.tensor(first[0]) - model.weight.detach()).flatten().tolist()
assert all(math.isclose(part, 2.0, rel_tol=1e-3) for part in moved), moved

from muster.torch import Trainer, batches
from muster.torch.tensor_exchange import average, share
from torch.utils.data import DataLoader, TensorDataset
means = average(trial, [torch.full((2,), float(trial.rank)), None])
assert means[0].tolist() == [1.0, 1.0] and means[1] is None
ranks = torch.full((2,), float(trial.rank))
share(trial, [ranks])
assert ranks.tolist() == [0.0, 0.0]

trial._description.optimizations.clear()  # the Trainer cuts its steps itself
def made(seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(2, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
def loss(model, batch):
    return ((model(batch[0]) - batch[1]) ** 2).mean()
inputs = torch.arange(24.0).reshape(12, 2) / 24
data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), 5)  # an epoch is 5, 5 and 2 samples: too few for three ranks
model, optimizer = made(5 + trial.rank)
trainer = Trainer(trial, model, optimizer, loss, lambda model, batch: {"error": loss(model, batch)}, accumulate=2)
found = trainer.fit(data, data, until=batches(4), validate_every=batches(4))
plain, optimizer = made(5)
for whole in (slice(0, 5), slice(5, 10)) * 2:
    optimizer.zero_grad()
    loss(plain, data.dataset[whole]).backward()
    optimizer.step()
assert torch.allclose(model.weight, plain.weight, atol=1e-5), (model.weight, plain.weight)
assert math.isclose(found["error"], loss(plain, data.dataset[:]).item(), rel_tol=1e-3)
if trial.rank == 0:
    trial.report(5, moved=moved[0])
step = 5
while not trial.should_stop():
    step += 1
with trial.checkpoint(step) as folder:
    (folder / f"shard-{trial.rank}").write_bytes(bytes([trial.rank]) * 100)
counted = trial._heartbeat.timings
assert counted._spent_ns[1] > 0, "ranks that waited for each other have counted it"
print("rank", trial.rank, "is through")
"""


@pytest.fixture(scope="module")
async def two(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> None:
    """Two workers that have been heard."""
    for name in ("d1", "d2"):
        daemons(name).start(**WITH_TORCH)
    await eventually(lambda: {"d1", "d2"} <= set(platform.observed))


async def end_with(platform: FakePlatform, run: object, *names: str) -> None:
    for name in names:
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc, arg-type]
        ended = platform.of(name, run)  # type: ignore[arg-type]
        assert ended is not None
        assert ended.exit_code == 0, platform.text(run)  # type: ignore[arg-type]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("distributed", ["horovod", "torch"])
async def test_a_gang_does_the_same_whatever_carries_it(
    platform: FakePlatform, tmp_path: Path, distributed: Distributed
) -> None:
    code = platform.add_code(code_in(tmp_path, CONTRACT))
    spec = {
        "distributed": distributed,
        "optimizations": {"aggregation_frequency": 2, "gradient_compression": True},
        "profiling": {"enabled": True},
        "environment": {"HOROVOD_CACHE_CAPACITY": "512"},
    }
    run = await begin_gang(platform, platform.allocation(f"contract {distributed}", code, MEMBERS, spec=spec))
    await eventually(lambda: platform.steps(run) == [4, 5] or state_of(platform, run, "d1") == "exited")
    for name in ("d1", "d2"):
        await platform.desire(name, run.model_copy(update={"signal": Signal.PAUSE}))
    await end_with(platform, run, "d1", "d2")
    assert platform.of("d1", run).acknowledged is Signal.PAUSE  # type: ignore[union-attr]
    await eventually(lambda: len(platform.saved_of(run)) == 2)
    by_trainer, by_hand = ({entry.path for entry in saved.files} for saved in platform.saved_of(run))
    assert by_trainer == {"state.pt", *(f"rank-{rank:05d}.pt" for rank in range(3))}
    assert by_hand == {"shard-0", "shard-1", "shard-2"}


@pytest.mark.usefixtures("two")
async def test_a_script_that_knows_only_torch_trains_as_a_gang(
    platform: FakePlatform, tmp_path: Path
) -> None:
    """It imports nothing of Muster; with one slot it is the same script."""
    script = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "sees", total.item(), flush=True)
dist.destroy_process_group()
"""
    code = platform.add_code(code_in(tmp_path, script))
    spec = {"distributed": "torch"}
    run = await begin_gang(platform, platform.allocation("plain torch", code, MEMBERS, spec=spec))
    await end_with(platform, run, "d1", "d2")
    for rank in range(3):
        await eventually(lambda rank=rank: f"rank {rank} of 3 sees 3.0" in platform.text(run))  # type: ignore[misc]
    single = platform.allocation("plain torch alone", code, MEMBERS[1:], spec=spec)
    await platform.desire("d2", single)
    await end_with(platform, single, "d2")
    await eventually(lambda: "rank 0 of 1 sees 0.0" in platform.text(single))


@pytest.mark.usefixtures("two")
async def test_a_launcher_of_ones_own_starts_the_ranks(platform: FakePlatform, tmp_path: Path) -> None:
    """`torchrun` without any option finds what it needs, and the script's trial is one of all its ranks."""
    script = """
import muster
trial = muster.trial()
assert trial.size == 2, trial.size
trial.report(1, size=trial.size)
while not trial.should_stop():
    pass
print("rank", trial.rank, "of", trial.size, "on its machine", trial.local_rank)
"""
    code = platform.add_code(code_in(tmp_path, script))
    spec = {"distributed": "none", "entrypoint": "exec python3 -m torch.distributed.run train.py"}
    run = platform.allocation("torchrun", code, MEMBERS[:1], spec=spec)
    await platform.desire("d1", run)
    await eventually(lambda: platform.steps(run) == [1] or state_of(platform, run, "d1") == "exited")
    await platform.desire("d1", run.model_copy(update={"signal": Signal.PAUSE}))
    await end_with(platform, run, "d1")
    for line in ("rank 0 of 2 on its machine 0", "rank 1 of 2 on its machine 1"):
        await eventually(lambda line=line: line in platform.text(run))  # type: ignore[misc]


@pytest.mark.usefixtures("two")
async def test_any_command_is_run_once_on_each_machine(platform: FakePlatform, tmp_path: Path) -> None:
    code = platform.add_code(code_in(tmp_path, ""))
    words = "echo machine $MUSTER_NODE_RANK of $MUSTER_NODES with $MUSTER_SLOTS at $MUSTER_NODE_ADDRESSES"
    run = platform.allocation("any", code, MEMBERS, spec={"distributed": "none", "entrypoint": words})
    for name in ("d1", "d2"):
        await platform.desire(name, run)
    await end_with(platform, run, "d1", "d2")
    for line in (
        "machine 0 of 2 with 2 at 127.0.0.1,127.0.0.1",
        "machine 1 of 2 with 1 at 127.0.0.1,127.0.0.1",
    ):
        await eventually(lambda line=line: line in platform.text(run))  # type: ignore[misc]
