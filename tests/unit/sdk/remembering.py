"""A trial that only remembers what a training does with it, for the tests of what drives trainings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.wire import Json


@dataclass
class Remembering:
    """A trial of one rank."""

    folder: Path
    latest_checkpoint: Path | None = None
    hparams: dict[str, Any] = field(default_factory=dict)
    stop_at: int | None = None
    rank: int = 0
    local_rank: int = 0
    size: int = 1
    seed: int = 7
    generation: int = 0
    _gang: None = None
    _resizing: Any = None
    optimizations: dict[str, Json] = field(default_factory=dict)
    reported: dict[int, dict[str, float]] = field(default_factory=dict)
    validated: dict[int, dict[str, float]] = field(default_factory=dict)
    saved: list[int] = field(default_factory=list)
    calls: int = 0

    @property
    def _description(self) -> "Remembering":
        return self

    @property
    def _environment(self) -> "Remembering":
        return self

    def report(self, step: int, **metrics: float) -> None:
        self.reported[step] = metrics

    def validate(self, step: int, **metrics: float) -> None:
        self.validated[step] = metrics

    @contextmanager
    def checkpoint(self, step: int) -> Iterator[Path]:
        folder = self.folder / str(step)
        folder.mkdir(parents=True)
        yield folder
        self.saved.append(step)

    def should_checkpoint(self, step: int, *, validated: bool = True) -> bool:
        return validated

    def should_stop(self) -> bool:
        self.calls += 1
        return self.calls == self.stop_at
