"""The whole state of a training in a checkpoint's folder, so that a resumed run goes on as if it had never ended.

`state.pt` holds what all ranks have alike, written by rank 0; `rank-00000.pt` what is one rank's own. Neighbours: `plain_values` says what
may stand in them, `generators` holds the random numbers, `files` reads and writes.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from muster._checkpoint_errors import abbreviate, of_another_model
from muster.errors import Rejected
from muster.torch.files import read_file, write_file
from muster.torch.generators import capture_generators, restore_generators
from muster.torch.plain_values import check_plain
from muster.wire import Json

FORMAT = 1


class Stateful(Protocol):
    """A module, optimizer, scheduler, scaler, sampler or loader: whatever says its state and takes it back."""

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any: ...


class WriterRank(Protocol):
    """Which rank this is, and of how many: a `muster.Trial`."""

    rank: int
    size: int


class TrainingState:
    """All that a training goes on from, by name.

    `TrainingState(trial, model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)`; the generators of torch (CUDA too),
    numpy and Python belong to it without being named. On the CPU a run that loads it equals an unbroken one bit for bit, where the
    script does the same after the load as it did after the save.

    Args:
        trial: The trial, for its rank and size.
        sharded: Names of the parts of which each rank has its own: every rank writes its own file. The others are alike on all
            ranks, and rank 0 writes them.
        parts: Objects with `state_dict` and `load_state_dict`.
    """

    def __init__(self, trial: WriterRank, *, sharded: Collection[str] = (), **parts: Stateful) -> None:
        if unknown := sorted(set(sharded) - set(parts)):
            raise Rejected(
                "part_unknown", f"`sharded` names {', '.join(unknown)}, which is no part", place="sharded"
            )
        self._trial = trial
        self._sharded = frozenset(sharded)
        self._parts = parts

    def save(self, folder: Path, **progress: Json) -> None:
        """Write the state into a checkpoint's folder; every rank calls it, inside `with trial.checkpoint(step) as folder`.

        Args:
            progress: Counters of the script, such as `step=step`, that `load` returns.

        Raises:
            Rejected: A part's state holds what could not be read back without unpickling foreign objects.
        """
        if self._trial.rank == 0:
            whole = self._state_of(set(self._parts) - self._sharded)
            content = {
                "format": FORMAT,
                "size": self._trial.size,
                "sharded": sorted(self._sharded),
                "parts": whole,
                "progress": progress,
            }
            write_file(folder / "state.pt", content)
        own = {"parts": self._state_of(self._sharded), "generators": capture_generators()}
        write_file(_own_file(folder, self._trial.rank), own)

    def load(self, folder: Path | None) -> dict[str, Json]:
        """Take the state from a checkpoint's folder and return the `progress` saved in it; without a folder nothing happens.

        Call it last before the training goes on: what draws random numbers after it draws as the unbroken run did. A rank that the
        saved gang did not have keeps its own random numbers.

        Raises:
            Rejected: The checkpoint is damaged or half-written (`checkpoint_unreadable`), of another model
                (`checkpoint_mismatch`), or its sharded parts are of a gang of another size (`checkpoint_shards`).
        """
        if folder is None:
            return {}
        whole = read_file(folder / "state.pt")
        self._check(folder, whole)
        own_file = _own_file(folder, self._trial.rank)
        own = read_file(own_file) if self._sharded or own_file.exists() else None
        for name, state in {**whole["parts"], **(own["parts"] if own else {})}.items():
            self._load_part(folder, name, state)
        if own:
            restore_generators(own["generators"])
        return dict(whole["progress"])

    def _state_of(self, names: Collection[str]) -> dict[str, Any]:
        states = {name: self._parts[name].state_dict() for name in sorted(names)}
        for name, state in states.items():
            check_plain(state, name)
        return states

    def _check(self, folder: Path, whole: Mapping[str, Any]) -> None:
        if whole.get("format") != FORMAT:
            raise Rejected(
                "checkpoint_unreadable",
                f"{abbreviate(folder)} has the format {whole.get('format')!r}; this version of muster reads {FORMAT}",
            )
        saved = {*whole["parts"], *whole["sharded"]}
        if saved != set(self._parts) or set(whole["sharded"]) != self._sharded:
            raise Rejected(
                "checkpoint_mismatch",
                f"{abbreviate(folder)} holds {_describe(saved, whole['sharded'])}; the script has "
                f"{_describe(self._parts, self._sharded)}",
                hint="give TrainingState the parts that it had when the checkpoint was written",
            )
        if self._sharded and whole["size"] != self._trial.size:
            raise Rejected(
                "checkpoint_shards",
                f"{abbreviate(folder)} holds {', '.join(sorted(self._sharded))} in {whole['size']} shards; this run has "
                f"{self._trial.size} ranks",
                hint="resume with as many slots, or save that part whole",
            )

    def _load_part(self, folder: Path, name: str, state: dict[str, Any]) -> None:
        try:
            self._parts[name].load_state_dict(state)
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            what = (
                f"{name} of {abbreviate(folder)} does not fit the script's {type(self._parts[name]).__name__}"
            )
            raise of_another_model(what, error, place=name) from error


def _own_file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank:05d}.pt"


def _describe(parts: Collection[str], sharded: Collection[str]) -> str:
    named = [f"{name} (sharded)" if name in sharded else name for name in sorted(parts)]
    return ", ".join(named) or "no part"
