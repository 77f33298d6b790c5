"""Simulation processes: one per question, a few at a time, each with a time limit. None runs between questions."""

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from muster.errors import from_problem
from shared.clock import Clock
from shared.errors import Broken, Rejected, Transient
from simulator.planning.worker_protocol import AnswerLine, Basics, Future, Question

MODULE = "simulator.planning.simulation_worker"
MARGIN_S = 2.0
"""The part of the caller's deadline that is reserved for everything except the simulation."""
LEAST_S = 1.0
MOST_LINE_BYTES = 1 << 20
_log = structlog.get_logger()


@dataclass(slots=True)
class SimulatedFutures:
    """The output of a simulation process."""

    basics: Basics
    futures: list[Future] = field(default_factory=list)


class SimulationWorkers:
    """Starts simulation processes.

    Args:
        at_once: Concurrent questions; more of them wait up to their deadline.
        seconds: Time limit; the futures simulated until then count.
        memory_mib: Address space limit.
    """

    def __init__(self, clock: Clock, at_once: int, seconds: float, memory_mib: int) -> None:
        self._clock = clock
        self._free = asyncio.Semaphore(at_once)
        self._seconds = seconds
        self._memory_mib = memory_mib

    async def play(self, question: Question, deadline_s: float) -> SimulatedFutures:
        """Return at least one future.

        Raises:
            Rejected: The question has no answer, or not even one future was simulated in time.
            Transient: Other questions used all processes until the deadline.
        """
        until = self._clock.monotonic() + deadline_s - MARGIN_S
        try:
            async with asyncio.timeout(max(0.0, deadline_s - MARGIN_S - LEAST_S)):
                await self._free.acquire()
        except TimeoutError:
            raise Transient("the planner is busy with other plans; try again", code="planner_busy") from None
        try:
            return await self._play(question, min(self._seconds, until - self._clock.monotonic()))
        finally:
            self._free.release()

    async def _play(self, question: Question, seconds: float) -> SimulatedFutures:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", MODULE, str(self._memory_mib), str(int(seconds) + 2),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=MOST_LINE_BYTES,
        )  # fmt: skip
        output = _Output()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _converse(process, question, output)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return output.outcome(seconds)


@dataclass(slots=True)
class _Output:
    basics: Basics | None = None
    futures: list[Future] = field(default_factory=list)
    errors: bytes = b""
    has_ended: bool = False

    def take(self, line: bytes) -> None:
        parsed = AnswerLine.model_validate_json(line)
        if parsed.refused is not None:
            raise from_problem(dict(parsed.refused.problem))
        if parsed.basics is not None:
            self.basics = parsed.basics
        if parsed.future is not None:
            self.futures.append(parsed.future)

    def outcome(self, seconds: float) -> SimulatedFutures:
        if self.basics is not None and self.futures:
            return SimulatedFutures(self.basics, self.futures)
        if self.has_ended:
            _log.error("a simulation process failed", errors=self.errors.decode(errors="replace")[-2000:])
            raise Broken("the simulation of the search failed")
        raise Rejected(
            "plan_too_large",
            f"this search could not be simulated once within {seconds:.0f} s",
            hint="plan for fewer trials, or for the pool as if nothing else ran",
        )


async def _converse(process: asyncio.subprocess.Process, question: Question, output: _Output) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(ConnectionError):
        process.stdin.write(question.model_dump_json().encode())
        await process.stdin.drain()
        process.stdin.close()
    while line := await process.stdout.readline():
        output.take(line)
    output.errors = await process.stderr.read(MOST_LINE_BYTES)
    output.has_ended = True
