"""A training that is resumed: the same to the last bit, or a clear word why it cannot be."""

import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from muster.errors import Rejected
from muster.torch import ResumableLoader, TrainingState

SCRIPT = """
import hashlib, os, random, signal, sys
import numpy as np, torch
from torch import nn
import muster
from muster.torch import ResumableLoader, TrainingState

trial = muster.trial()
torch.manual_seed(3)
np.random.seed(4)
random.seed(5)
inputs = torch.randn(90, 8)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=100)
loader = ResumableLoader(data, 16, trial)
state = TrainingState(trial, model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)
step = state.load(trial.latest_checkpoint).get("step", 0)
while step < 20:
    for batch, wanted in loader:
        noise = torch.from_numpy(np.random.normal(0, random.random() / 10, batch.shape)).float()
        optimizer.zero_grad()
        ((model(batch + noise) - wanted) ** 2).mean().backward()
        optimizer.step()
        scheduler.step()
        step += 1
        if step == 9:
            with trial.checkpoint(step) as folder:
                state.save(folder, step=step)
        if step == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        if step == 20:
            break
digest = hashlib.sha256()
for tensor in (*model.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())):
    digest.update(tensor.detach().numpy().tobytes())
print("WEIGHTS", digest.hexdigest(), torch.rand(1).item(), np.random.rand(), random.random(), flush=True)
"""


@dataclass
class Place:
    rank: int = 0
    size: int = 1
    seed: int = 7


FORKS = f"""
import os, sys
import numpy, torch, torch.utils.data
torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])  # imports much at its first use
SCRIPT = {SCRIPT!r}
for folder, kill_at, latest in (line.split() for line in sys.stdin):
    if not os.fork():
        os.mkdir(folder)
        os.chdir(folder)
        sys.argv = ["train.py", kill_at]
        if latest != "none":
            os.environ["MUSTER_LATEST_CHECKPOINT"] = latest
        exec(SCRIPT)
        sys.exit()
    print("ENDED", folder, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
"""Each line on stdin is a training of its own: a fork, so that torch is imported once."""


def test_a_run_that_was_killed_and_resumed_equals_an_unbroken_one(tmp_path: Path) -> None:
    """Killed in the middle of an epoch, six steps after its checkpoint: with dropout, noise by numpy and a schedule."""
    trainings = f"""unbroken 0 none
killed 15 none
resumed 0 {tmp_path}/killed/checkpoints/000001-step-9
"""
    ended = subprocess.run(
        [sys.executable, "-c", FORKS],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
        input=trainings,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = ended.stdout.splitlines()
    codes = [line for line in lines if line.startswith("ENDED")]
    assert codes == ["ENDED unbroken 0", f"ENDED killed {-signal.SIGKILL}", "ENDED resumed 0"], ended.stderr
    unbroken, resumed = (line for line in lines if line.startswith("WEIGHTS"))
    assert unbroken == resumed


def _model(width: int = 4) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Linear(width, 1)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, width)).sum().backward()
    optimizer.step()
    return model, optimizer


def _saved(folder: Path) -> Path:
    model, optimizer = _model()
    TrainingState(Place(), model=model, optimizer=optimizer).save(folder, step=3)
    return folder


def test_without_a_checkpoint_nothing_is_loaded() -> None:
    assert TrainingState(Place()).load(None) == {}


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    model, optimizer = _model(width=5)
    with pytest.raises(
        Rejected, match=r"model of .* does not match the script's Linear: .*size mismatch"
    ) as raised:
        TrainingState(Place(), model=model, optimizer=optimizer).load(_saved(tmp_path))
    assert raised.value.code == "checkpoint_mismatch"
    with pytest.raises(Rejected, match="contains model, optimizer; the script has model"):
        TrainingState(Place(), model=model).load(tmp_path)


@pytest.mark.parametrize("spoil", ["cut", "flipped", "empty", "missing", "text"])
def test_a_damaged_checkpoint_is_refused_and_the_model_left_alone(tmp_path: Path, spoil: str) -> None:
    target = _saved(tmp_path) / "state.pt"
    content = bytearray(target.read_bytes())
    model, optimizer = _model()
    at = content.find(model.state_dict()["weight"].numpy().tobytes()[:4])
    middle = at if at > 0 else len(content) // 2
    match spoil:
        case "cut":
            target.write_bytes(content[: len(content) // 2])
        case "flipped":
            content[middle] ^= 1
            target.write_bytes(content)
        case "empty":
            target.write_bytes(b"")
        case "missing":
            target.unlink()
        case "text":
            target.write_text("not a checkpoint")
    before = model.state_dict()["weight"].clone()
    with pytest.raises(Rejected, match=r"state\.pt cannot be read") as raised:
        TrainingState(Place(), model=model, optimizer=optimizer).load(tmp_path)
    assert raised.value.code == "checkpoint_unreadable"
    assert torch.equal(model.state_dict()["weight"], before)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("run by unpickling",)


def test_a_checkpoint_runs_nothing_when_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"format": 1, "parts": Evil()}, tmp_path / "state.pt")
    with pytest.raises(Rejected, match="torch refuses it"):
        TrainingState(Place()).load(tmp_path)
    assert capsys.readouterr().out == ""


class Odd:
    def state_dict(self) -> dict[str, object]:
        return {"best": [1.0, Path("x")]}

    def load_state_dict(self, state: dict[str, object]) -> None: ...


def test_what_could_not_be_loaded_is_refused_at_the_save(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"odd\.best\[1\] is a pathlib.*Path"):
        TrainingState(Place(), odd=Odd()).save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_each_rank_has_its_own_shard_and_its_own_random_numbers(tmp_path: Path) -> None:
    drawn = []
    for rank in (0, 1):
        model, optimizer = _model()
        with torch.no_grad():
            model.weight.fill_(rank)  # type: ignore[operator]
        torch.manual_seed(rank)
        np.random.seed(rank)
        random.seed(rank)
        state = TrainingState(Place(rank, 2), sharded=("model",), model=model, optimizer=optimizer)
        state.save(tmp_path, step=5)
        drawn.append((torch.rand(1).item(), np.random.rand(), random.random()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank-00000.pt", "rank-00001.pt", "state.pt"]
    for rank in (0, 1):
        model, optimizer = _model()
        state = TrainingState(Place(rank, 2), sharded=("model",), model=model, optimizer=optimizer)
        assert state.load(tmp_path) == {"step": 5}
        assert model.state_dict()["weight"].unique().tolist() == [rank]
        assert (torch.rand(1).item(), np.random.rand(), random.random()) == drawn[rank]
    alone = TrainingState(Place(), sharded=("model",), model=model, optimizer=optimizer)
    with pytest.raises(Rejected, match="model in 2 shards, but this run has 1 ranks"):
        alone.load(tmp_path)


def _epoch(loader: ResumableLoader, batches: int = 10**9) -> list[int]:
    seen = []
    for batch in loader:
        seen += [int(one) for one in batch]
        batches -= 1
        if not batches:
            break
    return seen


def test_an_epoch_goes_on_where_it_stood_with_another_number_of_ranks() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(25))
    first = [ResumableLoader(data, 3, Place(rank, 2), collate_fn=_flat) for rank in (0, 1)]
    seen = [one for loader in first for one in _epoch(loader, 2)]
    assert first[0].state_dict() == first[1].state_dict()
    rest = ResumableLoader(data, 3, Place(), collate_fn=_flat)
    rest.load_state_dict(first[0].state_dict())
    assert sorted(seen + _epoch(rest)) == list(range(25))
    assert rest.state_dict() == {"epoch": 1, "consumed": 0, "samples": 25}


def test_what_workers_fetched_ahead_does_not_count() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(25))
    loader = ResumableLoader(data, 3, Place(), collate_fn=_flat, num_workers=1)
    seen = _epoch(loader, 2)
    assert loader.state_dict()["consumed"] == 6
    again = ResumableLoader(data, 3, Place(), collate_fn=_flat)
    again.load_state_dict(loader.state_dict())
    assert sorted(seen + _epoch(again)) == list(range(25))


def test_ranks_get_equally_many_batches() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(10))
    loaders = [ResumableLoader(data, 2, Place(rank, 3), collate_fn=_flat) for rank in range(3)]
    seen = [_epoch(loader) for loader in loaders]
    assert [len(one) for one in seen] == [4, 4, 4]
    assert {sample for one in seen for sample in one} == set(range(10))
    dropping = [ResumableLoader(data, 2, Place(rank, 3), drop_last=True) for rank in range(3)]
    assert (
        [sum(1 for _ in loader) for loader in dropping] == [1, 1, 1] == [len(loader) for loader in dropping]
    )


def _flat(samples: list[tuple[torch.Tensor]]) -> list[torch.Tensor]:
    return [sample for (sample,) in samples]
