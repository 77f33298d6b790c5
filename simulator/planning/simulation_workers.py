"""Processes that play questions: one for each, a few at a time, ended when their time is over. Between questions there is none."""

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from muster.errors import from_problem
from shared.clock import Clock
from shared.errors import Broken, Rejected, Transient
from simulator.planning.question import AnswerLine, Basics, Future, Question

MODULE = "simulator.planning.simulation_worker"
MARGIN_S = 2.0
"""Kept of the asker's deadline for what is done beside the playing."""
LEAST_S = 1.0
MOST_LINE_BYTES = 1 << 20
_log = structlog.get_logger()


@dataclass(slots=True)
class SimulatedFutures:
    """What a player said."""

    basics: Basics
    futures: list[Future] = field(default_factory=list)


class SimulationWorkers:
    """Starts them.

    Args:
        at_once: More questions wait for their turn, as long as who asks does.
        seconds: A player is ended after so long; what it has played by then counts.
        memory_mib: Of address space.
    """

    def __init__(self, clock: Clock, at_once: int, seconds: float, memory_mib: int) -> None:
        self._clock = clock
        self._free = asyncio.Semaphore(at_once)
        self._seconds = seconds
        self._memory_mib = memory_mib

    async def play(self, question: Question, deadline_s: float) -> SimulatedFutures:
        """Returns at least one future.

        Raises:
            Rejected: It has no answer, or not even one future could be played in the time.
            Transient: Others were played for all of the time.
        """
        until = self._clock.monotonic() + deadline_s - MARGIN_S
        try:
            async with asyncio.timeout(max(0.0, deadline_s - MARGIN_S - LEAST_S)):
                await self._free.acquire()
        except TimeoutError:
            raise Transient("other plans are being made; ask again", code="planner_busy") from None
        try:
            return await self._play(question, min(self._seconds, until - self._clock.monotonic()))
        finally:
            self._free.release()

    async def _play(self, question: Question, seconds: float) -> SimulatedFutures:
        player = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", MODULE, str(self._memory_mib), str(int(seconds) + 2),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=MOST_LINE_BYTES,
        )  # fmt: skip
        said = _Said()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _converse(player, question, said)
        finally:
            with suppress(ProcessLookupError):
                player.kill()
            await player.wait()
        return said.outcome(seconds)


@dataclass(slots=True)
class _Said:
    basics: Basics | None = None
    futures: list[Future] = field(default_factory=list)
    errors: bytes = b""
    has_ended: bool = False

    def take(self, line: bytes) -> None:
        told = AnswerLine.model_validate_json(line)
        if told.refused is not None:
            raise from_problem(dict(told.refused.problem))
        if told.basics is not None:
            self.basics = told.basics
        if told.future is not None:
            self.futures.append(told.future)

    def outcome(self, seconds: float) -> SimulatedFutures:
        if self.basics is not None and self.futures:
            return SimulatedFutures(self.basics, self.futures)
        if self.has_ended:
            _log.error("a player failed", errors=self.errors.decode(errors="replace")[-2000:])
            raise Broken("the search could not be played")
        raise Rejected(
            "plan_too_large",
            f"this search could not be played once in {seconds:.0f} s",
            hint="plan for fewer trials, or as if nothing else ran in the pool",
        )


async def _converse(player: asyncio.subprocess.Process, question: Question, said: _Said) -> None:
    assert player.stdin is not None
    assert player.stdout is not None
    assert player.stderr is not None
    with suppress(ConnectionError):
        player.stdin.write(question.model_dump_json().encode())
        await player.stdin.drain()
        player.stdin.close()
    while line := await player.stdout.readline():
        said.take(line)
    said.errors = await player.stderr.read(MOST_LINE_BYTES)
    said.has_ended = True
