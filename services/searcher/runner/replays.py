"""Answer `qry searcher.replay`: send a journal page by page to a process that replays it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import orjson
import structlog

from services.searcher.runner import snapshots
from services.searcher.store import entities
from services.searcher.store.entities import Submission
from services.searcher.store.snapshots import Snapshot, load_snapshot
from shared.bus import RequestContext
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import Broken, NotFound, Transient
from shared.ids import ExperimentId, TenantId
from shared.messages.search_journals import Replayed, ReplayExperiment

MODULE = "services.searcher.runner.replay_process"
PAGE = 1000
MARGIN_S = 3.0
"""Part of the query's deadline reserved for data still in the pipe."""
MOST_REPLY_BYTES = 1 << 24
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Replays:
    """Runs one replay at a time; others wait up to their query's deadline."""

    database: Database
    clock: Clock
    _free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    async def on_replay(self, ask: RequestContext, query: ReplayExperiment) -> Replayed:
        """Replay an experiment. Raises NotFound, and Transient if other replays take all of the time."""
        until = self.clock.monotonic() + ask.deadline_s - MARGIN_S
        async with self.database.read(ask.tenant) as connection:
            decisions = await entities.load_position(connection, query.experiment_id)
            if decisions is None:
                raise NotFound(f"experiment {query.experiment_id}")
            submission = await entities.load_submission(connection, query.experiment_id)
            saved = await load_snapshot(connection, query.experiment_id, snapshots.code(), decisions)
        try:
            async with asyncio.timeout(max(0.0, ask.deadline_s - 2 * MARGIN_S)):
                await self._free.acquire()
        except TimeoutError:
            raise Transient("another search is being replayed; try again later", code="replay_busy") from None
        try:
            return await self._replay(submission, saved, decisions, until)
        finally:
            self._free.release()

    async def _replay(
        self, submission: Submission, saved: Snapshot | None, decisions: int, until: float
    ) -> Replayed:
        if not decisions:
            return Replayed(decisions=0, checked=0)
        replayer = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", MODULE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=MOST_REPLY_BYTES,
        )  # fmt: skip
        assert replayer.stdin is not None
        assert replayer.stdout is not None
        assert replayer.stderr is not None
        try:
            with suppress(ConnectionError):
                replayer.stdin.write(_beginning(submission, saved))
                async for page in self._pages(submission.tenant, submission.id, decisions, until):
                    replayer.stdin.write(page)
                    await replayer.stdin.drain()
            replayer.stdin.close()
            reply = await replayer.stdout.read()
            if not reply:
                errors = (await replayer.stderr.read()).decode(errors="replace")
                _log.error("a replay failed", experiment=str(submission.id), errors=errors[-2000:])
                raise Broken("the search could not be replayed")
        finally:
            with suppress(ProcessLookupError):
                replayer.kill()
            await replayer.wait()
        return Replayed(decisions=decisions, **orjson.loads(reply))

    async def _pages(
        self, tenant: TenantId, experiment: ExperimentId, last: int, until: float
    ) -> AsyncIterator[bytes]:
        """Yield the journal's lines up to `last` until the deadline."""
        after = 0
        while after < last and self.clock.monotonic() < until:
            async with self.database.read(tenant) as connection:
                lines = await entities.load_journal_lines(
                    connection, experiment, after, min(PAGE, last - after)
                )
            if not lines:
                return
            after += len(lines)
            yield b"".join(lines)


def _beginning(submission: Submission, saved: Snapshot | None) -> bytes:
    request: dict[str, object] = {"config": submission.config, "seed": submission.seed}
    if saved is not None:
        request["saved"] = {
            "position": saved.position,
            "state": orjson.Fragment(snapshots.unpack(saved.state)),
        }
    return orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE)
