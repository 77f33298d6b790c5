"""How workers join: a one-time token is exchanged for credentials valid for one day, signed by a key that can
issue worker users only."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.reducers.workers import on_joined
from services.scheduler.core.state.records.worker import Liveness, Worker
from services.scheduler.cycle import Cycle
from services.scheduler.store.workers import (
    Joined,
    JoinToken,
    has_pool,
    load_key,
    register_worker,
    renew_worker,
    save_join_token,
    spend_join_token,
)
from shared.auth.nats_jwt import WORKER_NAME, WorkerIssuer, worker_token
from shared.bus import RequestContext, Units
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import NotFound, Rejected
from shared.ids import SITE, WorkerId
from shared.messages.workers import (
    Credentials,
    GetWorkerKey,
    IssuedJoin,
    IssueJoin,
    Join,
    Renew,
    WorkerKey,
    WorkerRefused,
)
from shared.version import check_fits, platform_version

LIFE = timedelta(hours=24)
MOST_TOKEN_LIFE_S = 7 * 24 * 3600.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Joining:
    """Issues join tokens and credentials. Tokens are stored as hashes."""

    cycle: Cycle
    database: Database
    units: Units
    issuer: WorkerIssuer
    nats_url: str
    clock: Clock

    async def issue(self, ask: RequestContext, query: IssueJoin) -> IssuedJoin:
        now = self.clock.now()
        life_s = min(max(query.life_s, 1.0), MOST_TOKEN_LIFE_S)
        token = secrets.token_urlsafe(32)
        stored = JoinToken(_hash(token), query.pool, query.worker, now + timedelta(seconds=life_s))
        async with self.database.system() as connection:
            if not await has_pool(connection, query.pool):
                raise Rejected("pool_unknown", f"pool {query.pool} does not exist", "pool")
            await save_join_token(connection, stored, now)
        return IssuedJoin(token=token, expires_at=stored.expires_at)

    async def join(self, ask: RequestContext, query: Join) -> Credentials:
        """Use up the token and return credentials. The same worker may repeat its request with the same key,
        also after an upgrade."""
        _check_name(query.worker)
        now = self.clock.now()
        spent = JoinToken(_hash(query.token), query.pool, query.worker, now)
        async with self.units.system() as unit:
            if not await spend_join_token(unit.connection, spent, query.worker, query.user_key, now):
                raise Rejected(
                    "bad_join_token", "the join token is invalid, already used or expired", "token"
                )
            misfit = _misfit(query)
            if misfit is None:
                await self._register(unit.connection, query, now)
            else:
                refused = WorkerRefused(
                    worker=query.worker,
                    pool=query.pool,
                    code="machine_unfit" if query.trouble else "version_mismatch",
                    reason=misfit.message,
                )
                unit.emit(refused, tenant=SITE)
        if misfit is not None:
            raise misfit
        self.cycle.push(lambda cycle: cycle.cluster.apply(on_joined(cycle.cluster, query.worker, query.pool)))
        credentials = self._credentials(query.worker, query.user_key, now)
        return credentials.model_copy(update={"warning": self._refusal_of(query)})

    def _refusal_of(self, query: Join) -> str | None:
        """Return why the pool will not use the worker."""
        pool = self.cycle.cluster.pools.get(query.pool)
        isolation = {"isolation": query.isolation, "isolation_detail": query.isolation_detail}
        return pool.policy.refusal_of(Worker(query.worker, query.pool, **isolation)) if pool else None  # type: ignore[arg-type]

    async def _register(self, connection: AsyncConnection, query: Join, now: datetime) -> None:
        is_alive = self._is_alive(query.worker)
        joined = Joined(query.worker, query.pool, query.address, query.user_key, now + LIFE)
        if await register_worker(connection, joined, is_alive):
            return
        if not is_alive:
            raise Rejected(
                "worker_gone",
                f"worker {query.worker} was removed and its name cannot be used again; choose another name",
                "worker",
            )
        _log.warning("refused a second worker with the same name", worker=query.worker)
        raise Rejected(
            "worker_known",
            f"a worker named {query.worker} is already running on another machine",
            "worker",
            "give every machine its own name, or stop the other worker first",
        )

    def _is_alive(self, name: WorkerId) -> bool:
        worker = self.cycle.cluster.workers.get(name)
        return worker is not None and worker.liveness is Liveness.READY and worker.has_heartbeat

    async def renew(self, ask: RequestContext, query: Renew) -> Credentials:
        now = self.clock.now()
        async with self.database.system() as connection:
            if not await renew_worker(connection, ask.worker, query.user_key, now + LIFE):
                raise Rejected(
                    "worker_unknown",
                    f"the credentials of worker {ask.worker} cannot be renewed; it must join again",
                    "worker",
                )
        return self._credentials(ask.worker, query.user_key, now)

    async def key_of(self, ask: RequestContext, query: GetWorkerKey) -> WorkerKey:
        async with self.database.system() as connection:
            found = await load_key(connection, query.worker)
        if found is None:
            raise NotFound(f"worker {query.worker}")
        return WorkerKey(worker=query.worker, user_key=found[0], expires_at=found[1])

    def _credentials(self, worker: WorkerId, key: str, now: datetime) -> Credentials:
        until = now + LIFE
        jwt = worker_token(self.issuer, worker, key, now=now, until=until)
        return Credentials(worker=worker, jwt=jwt, nats_url=self.nats_url, expires_at=until)


def _misfit(query: Join) -> Rejected | None:
    """Return why a worker cannot serve this platform: its own report, or its version (None if it is too old to
    report one)."""
    if query.trouble is not None:
        return Rejected("machine_unfit", query.trouble, "trouble")
    try:
        if query.version is not None:
            check_fits(query.version, platform_version())
    except Rejected as error:
        return error
    return None


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _check_name(worker: WorkerId) -> None:
    if not WORKER_NAME.fullmatch(worker):
        raise Rejected(
            "bad_worker_name",
            f"worker id {worker!r} cannot be used: only letters, digits, '-' and '_' are allowed, at most 63",
            "worker",
        )
