"""Joins a machine as a worker: `muster worker join`. The settings are stored beside the credentials, the token is not.

Neighbours: `commands`, the command line; `identity`, which exchanges the token; `daemon_start`, which starts the daemon.
"""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from muster.errors import Rejected, Transient
from shared.clock import Clock
from worker.connection.identity import StoredIdentity, is_good, join, load_identity
from worker.paths import WorkerPaths
from worker.settings import WorkerSection, inherited_environment

JOIN_FILE = "join.json"


class JoinSettings(BaseModel):
    """The join settings of a machine, stored for the next start. `address`: where other machines of its pool reach it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    id: str
    pool: str = "default"
    address: str
    labels: str = ""
    slots: int | None = None
    kind: str | None = None
    user: str | None = None

    def environment(self, directory: Path) -> dict[str, str]:
        """Return the daemon's settings as environment variables."""
        given = {
            "ID": self.id,
            "DIRECTORY": str(directory),
            "POOL": self.pool,
            "ADDRESS": self.address,
            "LABELS": self.labels,
            "GATEWAY_URL": self.url,
            "SLOTS": None if self.slots is None else str(self.slots),
            "KIND": self.kind,
            "USER": self.user,
        }
        return {f"MUSTER_WORKER__{name}": value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """The options of the command line; None: the stored value, or a default of the machine."""

    url: str | None = None
    id: str | None = None
    pool: str | None = None
    address: str | None = None
    labels: str | None = None
    slots: int | None = None
    kind: str | None = None
    user: str | None = None


def default_directory() -> Path:
    """Return the default data directory of a worker started by a user."""
    if os.geteuid() == 0:
        return Path("/var/lib/muster/worker")
    state = inherited_environment().get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "muster" / "worker"


def resolve(given: JoinOptions, directory: Path) -> JoinSettings:
    """Return the join settings: from the command line, else stored ones, else defaults of the machine.

    Raises:
        Rejected: The platform's address was never given, or an option is invalid.
    """
    stored = _load(directory)
    given_values = {
        name: value for name in JoinOptions.__slots__ if (value := getattr(given, name)) is not None
    }
    url = str(given_values.get("url", stored.get("url", ""))).rstrip("/")
    if not urlsplit(url).hostname:
        raise Rejected(
            "url_missing",
            "the platform's address is not known" if not url else f"{url!r} is not a platform address",
            "--url",
            "give --url https://HOST:PORT and --token, as `muster worker token` prints it there",
        )
    found = {"id": _host_name(), "address": "", **stored, **given_values, "url": url}
    if not found["address"]:
        found["address"] = _address_towards(url)
    try:
        joining = JoinSettings.model_validate(found)
        WorkerSection(**_own(joining, directory))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][-1]) if first["loc"] else "join"
        raise Rejected(f"bad_{name}", f"--{name}: {first['msg']}", f"--{name}") from None
    return joining


async def join_here(
    joining: JoinSettings, token: str | None, directory: Path, clock: Clock
) -> StoredIdentity:
    """Join the machine unless its credentials are valid, and store its settings. Each token is valid for one join.

    Raises:
        Rejected: The platform refuses, or there is neither a token nor valid credentials.
        Transient: The platform does not answer.
    """
    paths = WorkerPaths(directory)
    paths.make(is_shared=joining.user is not None)
    identity = load_identity(paths.identity)
    if token is None and not is_good(identity, clock.now()):
        had = identity.credentials
        raise Rejected(
            "token_missing",
            f"the worker's credentials ran out at {had.expires_at:%Y-%m-%d %H:%M} UTC: they are renewed every 12 h while the worker runs"
            if had
            else "this machine has not joined yet",
            "--token",
            "create a token on the platform with `muster worker token`",
        )
    secret = SecretStr(token) if token else None
    settings = WorkerSection(**_own(joining, directory), join_token=secret)
    if token is not None and not (is_good(identity, clock.now()) and _is_same(joining, directory)):
        identity.credentials = None
    await join(identity, settings, clock)
    _keep(joining, directory)
    _check_bus(joining, identity)
    return identity


def _own(joining: JoinSettings, directory: Path) -> dict[str, object]:
    given = joining.model_dump(exclude={"url"}, exclude_none=True)
    return {**given, "directory": directory, "gateway_url": joining.url}


def _load(directory: Path) -> Mapping[str, object]:
    path = directory / JOIN_FILE
    if not path.exists():
        return {}
    try:
        return JoinSettings.model_validate_json(path.read_text()).model_dump(exclude_none=True)
    except (ValidationError, OSError) as error:
        raise Rejected(
            "join_unreadable", f"{path} cannot be read: {error}", hint="remove it and join again"
        ) from error


def _keep(joining: JoinSettings, directory: Path) -> None:
    path = directory / JOIN_FILE
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as target:
        target.write(joining.model_dump_json(exclude_none=True))


def _is_same(joining: JoinSettings, directory: Path) -> bool:
    """Whether the machine joined the same platform before, with the same pool and name."""
    stored = _load(directory)
    return all(stored.get(name) == getattr(joining, name) for name in ("url", "id", "pool"))


def _host_name() -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname()).strip("-")[:63] or "worker"


def _address_towards(url: str) -> str:
    """Return this machine's address on the route to the platform."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        family, *_, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as towards:
            towards.connect(target)  # sends nothing
            return str(towards.getsockname()[0])
    except OSError as error:
        raise Transient(f"the platform at {url} is not reachable: {error}", 1.0, "unreachable") from error


def _check_bus(joining: JoinSettings, identity: StoredIdentity) -> None:
    """Raise Rejected if the bus's address is a loopback address but the platform is on another machine."""
    advertised_url = identity.credentials.nats_url if identity.credentials else ""
    if _is_loopback(urlsplit(advertised_url).hostname or "") and not _is_loopback(
        urlsplit(joining.url).hostname or ""
    ):
        raise Rejected(
            "bus_unreachable",
            f"the platform advertises its bus at {advertised_url}, which only its own machine can reach",
            hint="ask its administrator to set MUSTER_SCHEDULER__WORKER_NATS_URL to an address on which the bus listens",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
