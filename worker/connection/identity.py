"""The worker's identity on the bus: its own key, and a token from joining, renewed at half its lifetime. The seed never leaves the machine."""

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
from worker.machine.isolation import offered_isolation
from worker.machine.metadata import AwsMetadata, GcpMetadata
from worker.settings import WorkerSection

JOIN_TIMEOUT_S = 15
RETRY_UNSAVED_AFTER = timedelta(seconds=30)
_log = structlog.get_logger()


@dataclass(slots=True)
class StoredIdentity:
    """The worker's key and current credentials, in a directory that only its user can read."""

    directory: Path
    seed: str
    credentials: Credentials | None
    is_stored: bool = True
    is_new: bool = False
    """Whether this process obtained the credentials."""

    @property
    def user_key(self) -> str:
        """The public key."""
        return nats_jwt.public_key(self.seed)

    @property
    def issuer_key(self) -> str:
        """The public key that signed the current credentials: the scheduler's. Empty before joining."""
        return str(nats_jwt.decode(self.credentials.jwt).get("iss", "")) if self.credentials else ""

    def identity(self) -> WorkerIdentity:
        """Return the identity that the connection uses at each (re)connect, so that a renewed token takes effect at once."""
        return WorkerIdentity(jwt=self._jwt, sign=self._sign)

    def keep(self, credentials: Credentials) -> None:
        """Use these credentials, also after a restart; if they cannot be written to disk, they are renewed soon."""
        self.credentials, self.is_new = credentials, True
        try:
            _write_private(self.directory / "credentials.json", credentials.model_dump_json())
            self.is_stored = True
        except OSError as error:
            self.is_stored = False
            _log.error("the worker's credentials could not be written to disk", error=str(error))

    def renewal_in(self, now: datetime) -> timedelta:
        """Return the time until the next renewal: half the token's lifetime, or soon if it is not on disk."""
        if self.credentials is None:
            return timedelta(0)
        if not self.is_stored:
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
    """Load the stored identity, or create a key."""
    seed_path = directory / "seed"
    if not seed_path.exists():
        _write_private(seed_path, nats_jwt.new_seed(nats_jwt.KeyKind.USER, os.urandom(32)))
    stored = directory / "credentials.json"
    credentials = Credentials.model_validate_json(stored.read_text()) if stored.exists() else None
    return StoredIdentity(directory, seed_path.read_text().strip(), credentials)


def is_good(identity: StoredIdentity, now: datetime) -> bool:
    """Whether the stored credentials are still valid."""
    return identity.credentials is not None and identity.credentials.expires_at > now


async def join(
    identity: StoredIdentity, settings: WorkerSection, clock: Clock, trouble: str | None = None
) -> None:
    """Exchange the join token, or the machine's signed cloud identity, for credentials, unless stored ones are valid.

    A token is exchanged even with valid credentials: their signing key may have been revoked. If that fails, they are used.
    `trouble`: why this machine cannot serve: it is refused, and the provisioner gets the reason.

    Raises:
        Rejected: There is neither a token nor a cloud, or the gateway refuses them.
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
        _log.info("the join token was not accepted; using the stored credentials", why=str(error))


async def _trade(identity: StoredIdentity, settings: WorkerSection, token: str, trouble: str | None) -> None:
    if not settings.gateway_url or not (token or settings.cloud):
        raise Rejected(
            "join_needed",
            "this worker has no valid credentials",
            hint="set MUSTER_WORKER__GATEWAY_URL and MUSTER_WORKER__JOIN_TOKEN",
        )
    offered = offered_isolation(settings)
    body: dict[str, str | None] = {
        "worker": settings.id,
        "user_key": identity.user_key,
        "pool": settings.pool,
        "address": settings.address,
        "version": platform_version(),
        "trouble": trouble,
        "isolation": offered.kind,
        "isolation_detail": offered.detail,
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
            f"the gateway at {settings.gateway_url} did not accept the join request: {error!r}"
        ) from error
    if answer.status >= 400:
        refused = from_problem(content)
        if refused.code == "unauthenticated":
            # The gateway's own hint is to sign in, which does not help a machine.
            hint = "each token is valid for one join; create another with `muster worker token`"
            raise Rejected("join_refused", refused.message, hint=hint)
        raise refused
    identity.keep(Credentials.model_validate(content))
    _log.info("the worker joined", worker=settings.id, pool=settings.pool)
    if identity.credentials and identity.credentials.warning:
        _log.warning("the pool will not use this worker", reason=identity.credentials.warning)


async def renew(identity: StoredIdentity, bus: Bus, worker: WorkerId) -> None:
    """Renew the credentials at the scheduler. Raises as `Bus.request`."""
    identity.keep(await bus.request(Renew(worker=worker, user_key=identity.user_key), worker))
    _log.info("the worker's credentials were renewed")


async def _signed(session: aiohttp.ClientSession, settings: WorkerSection) -> dict[str, str | None]:
    """Return the cloud's identity document of this machine, with a separate signature if needed. Raises Transient if the cloud does not answer."""
    if settings.cloud == "gcp":
        # Restricted to this platform: documents that others obtained for the machine are not accepted here.
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
