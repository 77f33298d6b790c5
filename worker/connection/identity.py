"""Who this worker is to the bus: a key of its own, a token by joining, renewed at half its life. The seed never leaves."""

import base64
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import nkeys
import structlog

from muster.errors import MusterError, Rejected, Transient, from_problem
from shared.auth import nats_jwt
from shared.bus import Bus, WorkerIdentity
from shared.clock import Clock
from shared.ids import WorkerId
from shared.messages.workers import Credentials, Renew
from shared.version import platform_version
from worker.machine.metadata import AwsMetadata, GcpMetadata
from worker.settings import WorkerSection

JOIN_TIMEOUT_S = 15
RETRY_UNSAVED_AFTER = timedelta(seconds=30)
_log = structlog.get_logger()


@dataclass(slots=True)
class StoredIdentity:
    """The worker's key and its present credentials, kept in a directory for this user only."""

    directory: Path
    seed: str
    credentials: Credentials | None
    is_kept: bool = True
    is_new: bool = False
    """The credentials were given to this process."""

    @property
    def user_key(self) -> str:
        """The public half of the key."""
        return nats_jwt.public_key(self.seed)

    def identity(self) -> WorkerIdentity:
        """What the connection asks for at each (re)connect, so that a renewed token is used at once."""
        return WorkerIdentity(jwt=self._jwt, sign=self._sign)

    def keep(self, credentials: Credentials) -> None:
        """Use these from now on, also after a restart; where the disk cannot keep them, others are soon asked for."""
        self.credentials, self.is_new = credentials, True
        try:
            _write_private(self.directory / "credentials.json", credentials.model_dump_json())
            self.is_kept = True
        except OSError as error:
            self.is_kept = False
            _log.error("the worker's credentials could not be kept on its disk", error=str(error))

    def renewal_in(self, now: datetime) -> timedelta:
        """How long the present token is good before it should be renewed: until half its life is over, or soon if it is not kept."""
        if self.credentials is None:
            return timedelta(0)
        if not self.is_kept:
            return RETRY_UNSAVED_AFTER
        issued = nats_jwt.decode(self.credentials.jwt).get("iat")
        issued_at = datetime.fromtimestamp(issued, UTC) if isinstance(issued, int) else now
        half = issued_at + (self.credentials.expires_at - issued_at) / 2
        return max(half - now, timedelta(0))

    def _jwt(self) -> bytes:
        return self.credentials.jwt.encode() if self.credentials else b""

    def _sign(self, nonce: str) -> bytes:
        signature = nkeys.from_seed(self.seed.encode()).sign(nonce.encode())
        return base64.b64encode(signature)


def load_identity(directory: Path) -> StoredIdentity:
    """Read the kept identity, or make a key."""
    seed_path = directory / "seed"
    if not seed_path.exists():
        _write_private(seed_path, nats_jwt.new_seed(nats_jwt.KeyKind.USER, os.urandom(32)))
    kept = directory / "credentials.json"
    credentials = Credentials.model_validate_json(kept.read_text()) if kept.exists() else None
    return StoredIdentity(directory, seed_path.read_text().strip(), credentials)


def is_good(identity: StoredIdentity, now: datetime) -> bool:
    """Whether the bus lets it in with what is kept."""
    return identity.credentials is not None and identity.credentials.expires_at > now


async def join(
    identity: StoredIdentity, settings: WorkerSection, clock: Clock, trouble: str | None = None
) -> None:
    """Trade the join token, or what the machine's cloud has signed of it, for credentials, unless kept ones are still good.

    A token is traded beside good ones too: what signed those may count no more, which nobody here can see. Where that fails they are used.
    `trouble`: why this machine cannot serve: it is refused, and who rents it is told.

    Raises:
        Rejected: There is neither, or the gateway refuses it.
        Transient: The gateway does not answer.
    """
    token = settings.join_token.get_secret_value() if settings.join_token else ""
    can_do_without = is_good(identity, clock.now())
    if can_do_without and (identity.is_new or not token):
        return
    try:
        await _trade(identity, settings, token, trouble)
    except MusterError as error:
        if not can_do_without:
            raise
        _log.info("the join token was not traded; the credentials of before are used", why=str(error))


async def _trade(identity: StoredIdentity, settings: WorkerSection, token: str, trouble: str | None) -> None:
    if not settings.gateway_url or not (token or settings.cloud):
        raise Rejected(
            "join_needed",
            "this worker has no valid credentials",
            hint="set MUSTER_WORKER__GATEWAY_URL and MUSTER_WORKER__JOIN_TOKEN",
        )
    body: dict[str, str | None] = {
        "worker": settings.id,
        "user_key": identity.user_key,
        "pool": settings.pool,
        "address": settings.address,
        "version": platform_version(),
        "trouble": trouble,
    }
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"{settings.gateway_url.rstrip('/')}/v1/workers/join"
    timeout = aiohttp.ClientTimeout(total=JOIN_TIMEOUT_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session:
            if not token:
                body |= await _signed(session, settings)
            async with session.post(url, json=body, headers=headers) as answer:
                content = await answer.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Transient(
            f"the gateway at {settings.gateway_url} did not let this worker join: {error!r}"
        ) from error
    if answer.status >= 400:
        refused = from_problem(content)
        if refused.code == "unauthenticated":
            # Whoever reads that at a terminal is told to sign in, which lets no machine in.
            hint = "a token admits one machine, once: `muster worker token` makes another"
            raise Rejected("join_refused", refused.message, hint=hint)
        raise refused
    identity.keep(Credentials.model_validate(content))
    _log.info("the worker joined", worker=settings.id, pool=settings.pool)


async def renew(identity: StoredIdentity, bus: Bus, worker: WorkerId) -> None:
    """Ask the scheduler for fresh credentials. Raises as `Bus.request`."""
    identity.keep(await bus.request(Renew(worker=worker, user_key=identity.user_key), worker))
    _log.info("the worker's credentials were renewed")


async def _signed(session: aiohttp.ClientSession, settings: WorkerSection) -> dict[str, str | None]:
    """What the cloud says of this machine, and its signature where that is not part of it. Raises Transient where it does not say."""
    if settings.cloud == "gcp":
        # For this platform alone: what others have had signed of the machine opens nothing here.
        query = urlencode({"audience": str(settings.gateway_url).rstrip("/"), "format": "full"})
        metadata = GcpMetadata(session, settings.metadata_url)
        return {"identity_document": await metadata.get(f"service-accounts/default/identity?{query}")}
    of, aws = "dynamic/instance-identity", AwsMetadata(session, settings.metadata_url)
    return {
        "identity_document": await aws.get(f"{of}/document"),
        "identity_signature": await aws.get(f"{of}/signature"),
    }


def _write_private(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as target:
        target.write(text)
        target.flush()
        os.fsync(target.fileno())
    temporary.replace(path)
