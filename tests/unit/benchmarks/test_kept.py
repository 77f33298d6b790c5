"""Long benchmarks in pieces: what is played, and what is not any more."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.bench.kept import Outcome, play_parts

PARTS = range(4)


class OneByOne(ThreadPoolExecutor):
    """Tells when the last part is not to be played any more."""

    def __init__(self) -> None:
        super().__init__(1)
        self.is_over = Event()

    def submit(self, play: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        future = super().submit(play, *given, **named)
        if given == (PARTS[-1],):
            future.add_done_callback(self._on_last)
        return future

    def _on_last(self, last: Future[Any]) -> None:
        if last.cancelled():
            self.is_over.set()


def test_a_piece_that_is_over_begins_no_part_and_the_next_goes_on_from_it(tmp_path: Path) -> None:
    played: list[int] = []
    with OneByOne() as pool:

        def play(part: int) -> Outcome:
            played.append(part)
            assert part == 0 or pool.is_over.wait(30)
            return {"square": part * part}

        with pytest.raises(SystemExit, match="of 4 parts are to be played yet"):
            play_parts(pool, play, PARTS, tmp_path / "kept", piece_s=-1.0)
        assert played in ([0], [0, 1])
        found = play_parts(pool, play, PARTS, tmp_path / "kept")
    assert played == [0, 1, 2, 3]
    assert [one["square"] for one in found] == [0, 1, 4, 9]


def test_after_a_part_that_failed_no_other_is_begun() -> None:
    played: list[int] = []
    with OneByOne() as pool:

        def play(part: int) -> Outcome:
            played.append(part)
            assert part == 0 or pool.is_over.wait(30)
            raise SystemExit("it hung")

        with pytest.raises(SystemExit, match="it hung"):
            play_parts(pool, play, PARTS, None)
    assert played in ([0], [0, 1])


def test_what_was_kept_on_another_basis_is_played_anew_and_stays_kept(tmp_path: Path) -> None:
    played: list[int] = []

    def play(part: int) -> Outcome:
        played.append(part)
        return {"time": len(played)}

    with ThreadPoolExecutor(1) as pool:
        times = [
            play_parts(pool, play, [0], tmp_path / "kept", basis=basis)[0]["time"]
            for basis in ("one", "other", "one", "")
        ]
    assert times == [1, 2, 1, 3]
