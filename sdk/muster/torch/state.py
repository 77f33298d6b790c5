"""Resumable training state in a checkpoint's folder.

`state.pt` holds the state that all ranks share, written by rank 0; `rank-00000.pt` the state of one rank. `plain_values` defines
allowed values, `rng_state` handles random numbers, `files` reads and writes.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from muster._checkpoint_errors import abbreviate, of_another_model
from muster.errors import Rejected
from muster.torch.files import read_file, write_file
from muster.torch.plain_values import check_plain
from muster.torch.rng_state import capture_generators, restore_generators
from muster.wire import Json

FORMAT = 1


class Stateful(Protocol):
    """An object with `state_dict` and `load_state_dict`: module, optimizer, scheduler, scaler, sampler or loader."""

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any: ...


class WriterRank(Protocol):
    """Rank and number of ranks, as in `muster.Trial`."""

    rank: int
    size: int


class TrainingState:
    """The state of a training, by name, for checkpoints.

    `TrainingState(trial, model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)`. The random number generators
    of torch (including CUDA), numpy and Python are always included. On the CPU, a resumed run equals an uninterrupted one bit
    for bit, if the script does the same after the load as it did after the save.

    Args:
        trial: The trial, for its rank and size.
        sharded: Names of parts that differ between ranks: every rank writes its own file. All other parts are equal on all
            ranks, and rank 0 writes them.
        parts: Objects with `state_dict` and `load_state_dict`.
    """

    def __init__(self, trial: WriterRank, *, sharded: Collection[str] = (), **parts: Stateful) -> None:
        if unknown := sorted(set(sharded) - set(parts)):
            raise Rejected(
                "part_unknown",
                f"`sharded` names {', '.join(unknown)}, which is not among the parts",
                place="sharded",
            )
        self._trial = trial
        self._sharded = frozenset(sharded)
        self._parts = parts

    def save(self, folder: Path, **progress: Json) -> None:
        """Write the state into a checkpoint's folder. Every rank calls it, inside `with trial.checkpoint(step) as folder`.

        Args:
            folder: Folder of the checkpoint.
            progress: Counters of the script, such as `step=step`, that `load` returns.

        Raises:
            Rejected: The state of a part contains objects that cannot be loaded without unpickling.
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
        """Load the state from a checkpoint's folder and return the saved `progress`; without a folder, do nothing and return {}.

        Call it after everything that draws random numbers, and before `trial.distribute`. Random numbers then continue as in the
        uninterrupted run. A rank that the saved gang did not have keeps its own random numbers.

        Args:
            folder: Folder of the checkpoint, such as `trial.latest_checkpoint`.

        Raises:
            Rejected: The checkpoint is damaged or incomplete (`checkpoint_unreadable`), belongs to another model
                (`checkpoint_mismatch`), or has sharded parts of another number of ranks (`checkpoint_shards`).
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
                f"{abbreviate(folder)} contains {_describe(saved, whole['sharded'])}; the script has "
                f"{_describe(self._parts, self._sharded)}",
                hint="pass TrainingState the same parts as when the checkpoint was written",
            )
        if self._sharded and whole["size"] != self._trial.size:
            raise Rejected(
                "checkpoint_shards",
                f"{abbreviate(folder)} contains {', '.join(sorted(self._sharded))} in {whole['size']} shards, but this run has "
                f"{self._trial.size} ranks",
                hint="resume with the same number of slots, or save that part unsharded",
            )

    def _load_part(self, folder: Path, name: str, state: dict[str, Any]) -> None:
        try:
            self._parts[name].load_state_dict(state)
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            what = f"{name} of {abbreviate(folder)} does not match the script's {type(self._parts[name]).__name__}"
            raise of_another_model(what, error, place=name) from error


def _own_file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank:05d}.pt"


def _describe(parts: Collection[str], sharded: Collection[str]) -> str:
    named = [f"{name} (sharded)" if name in sharded else name for name in sorted(parts)]
    return ", ".join(named) or "no part"
