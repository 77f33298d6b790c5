"""A person makes a machine a worker: `muster worker join`. What was said is kept beside the credentials, the token is not.

Neighbours: `commands`, which people type; `identity`, which trades the token; the daemon that is started at last (`python -m worker`).
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from muster.errors import Rejected, Transient
from shared.bus import ADMISSION
from shared.clock import Clock
from worker.connection.identity import Badge, is_good, join, load_badge
from worker.connection.line import LET_IN
from worker.places import Places
from worker.settings import WorkerSettings, inherited_environment

KEPT = "join.json"
LOG = "worker.log"
STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 10.0
_READY = b"the process became ready"
_LET_IN, _REFUSED = LET_IN.encode(), ADMISSION.encode()
"""What the daemon's log says."""
_LOOK_S = 0.1
_SECRETS = ("MUSTER_TOKEN", "MUSTER_JOIN_TOKEN", "MUSTER_WORKER__JOIN_TOKEN")
"""Of who types; the daemon needs none of them."""
_UNIT = """\
[Unit]
Description=Muster worker {name}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={muster} worker join --directory {directory}
Restart=always
RestartSec=5
# Its ranks are asked to save and end; then the daemon ends by itself.
KillMode=mixed
TimeoutStopSec=120
{user}
[Install]
WantedBy={target}
"""


class Joining(BaseModel):
    """What a machine joins with, kept for the next start. `address`: where the others of its pool reach it."""

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
        """The daemon's settings."""
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
class Given:
    """What was said on the command line; None: as before, or as the machine suggests."""

    url: str | None = None
    id: str | None = None
    pool: str | None = None
    address: str | None = None
    labels: str | None = None
    slots: int | None = None
    kind: str | None = None
    user: str | None = None


def default_directory() -> Path:
    """Where a worker that a person starts keeps what is its own."""
    if os.geteuid() == 0:
        return Path("/var/lib/muster/worker")
    state = inherited_environment().get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "muster" / "worker"


def resolve(given: Given, directory: Path) -> Joining:
    """What is joined with: as said, else as kept from before, else as the machine suggests.

    Raises:
        Rejected: Nobody has ever said where the platform is, or what was said cannot be.
    """
    kept = _load(directory)
    said = {name: value for name in Given.__slots__ if (value := getattr(given, name)) is not None}
    url = str(said.get("url", kept.get("url", ""))).rstrip("/")
    if not urlsplit(url).hostname:
        raise Rejected(
            "url_missing",
            "nobody has said where the platform is" if not url else f"{url!r} is no address of a platform",
            "--url",
            "give --url https://HOST:PORT and --token, as `muster worker token` prints it there",
        )
    found = {"id": _host_name(), "address": "", **kept, **said, "url": url}
    if not found["address"]:
        found["address"] = _address_towards(url)
    try:
        joining = Joining.model_validate(found)
        WorkerSettings(**_own(joining, directory))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][-1]) if first["loc"] else "join"
        raise Rejected(f"bad_{name}", f"--{name}: {first['msg']}", f"--{name}") from None
    return joining


async def join_here(joining: Joining, token: str | None, directory: Path, clock: Clock) -> Badge:
    """Makes the machine a worker unless it is one still, and keeps what it is. Each token is good for one machine, once.

    Raises:
        Rejected: The platform refuses, or no token was given and none that was traded before is good.
        Transient: The platform does not answer.
    """
    places = Places(directory)
    places.make(is_shared=joining.user is not None)
    badge = load_badge(places.identity)
    if token is None and not is_good(badge, clock.now()):
        had = badge.credentials
        raise Rejected(
            "token_missing",
            f"what this machine joined with ran out at {had.expires_at:%Y-%m-%d %H:%M} UTC: it is renewed each 12 h while the worker runs"
            if had
            else "this machine has not joined yet",
            "--token",
            "make a token on the platform: `muster worker token`",
        )
    secret = SecretStr(token) if token else None
    settings = WorkerSettings(**_own(joining, directory), join_token=secret)
    if token is not None and not (is_good(badge, clock.now()) and _is_same(joining, directory)):
        badge.credentials = None
    await join(badge, settings, clock)
    _keep(joining, directory)
    _check_bus(joining, badge)
    return badge


def run_here(joining: Joining, directory: Path) -> None:
    """Becomes the daemon; SIGTERM or Ctrl-C ends it, its ranks are asked to save first. Does not return."""
    os.execve(sys.executable, _words(), _environment(joining, directory))  # noqa: S606 - our own interpreter


def start_detached(joining: Joining, directory: Path) -> str:
    """Starts the daemon in a session of its own, waits until it is there, and returns what became of it in a sentence.

    Where the platform does not answer, it goes on asking: what was left running here is looked after all the same.

    Raises:
        Rejected: It ended, with the end of what it said; or it is let in no more.
    """
    log = directory / LOG
    before = log.stat().st_size if log.exists() else 0
    with log.open("ab") as output:
        os.fchmod(output.fileno(), 0o600)
        daemon = subprocess.Popen(
            _words(),
            env=_environment(joining, directory),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    said = _Said(daemon, log, before)
    if said.first_of((_READY,), STARTS_WITHIN_S) is None:
        raise Rejected(
            "worker_slow", f"the worker has not become ready in {STARTS_WITHIN_S:g} s", hint=f"see {log}"
        )
    ends = f"`kill {daemon.pid}` ends it gently"
    heard = said.first_of((_LET_IN, _REFUSED), ANSWERS_WITHIN_S)
    if heard == _REFUSED:
        raise Rejected(
            "worker_refused",
            f"the bus lets this machine in no more: its key was revoked; process {daemon.pid} goes on asking, and {ends}",
            hint=f"to let it in again, remove {directory / 'identity'} and give it a new token: `muster worker token`",
        )
    waits = "" if heard else "; the platform has not answered yet, and is asked again"
    return f"it runs as process {daemon.pid}{waits}; {ends}"


@dataclass(frozen=True, slots=True)
class _Said:
    """What a daemon writes into its log, from `begin` on."""

    daemon: subprocess.Popen[bytes]
    log: Path
    begin: int

    def first_of(self, words: Sequence[bytes], within_s: float) -> bytes | None:
        """Waits for one of the words. Raises Rejected when the daemon ends before."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            with self.log.open("rb") as written:
                written.seek(self.begin)
                said = written.read()
            for word in words:
                if word in said:
                    return word
            if self.daemon.poll() is not None:
                last = said.decode(errors="replace").strip().splitlines()[-1:]
                raise Rejected("worker_ended", f"the worker ended: {' '.join(last)}", hint=f"see {self.log}")
            time.sleep(_LOOK_S)
        return None


def systemd_unit(joining: Joining, directory: Path) -> str:
    """A unit that starts the worker with the machine; of a user's own where it is not root's."""
    muster = shutil.which("muster", path=str(Path(sys.executable).parent)) or "muster"
    is_root = os.geteuid() == 0
    return _UNIT.format(
        name=joining.id,
        muster=muster,
        directory=directory,
        user="User=root\n" if is_root else "",
        target="multi-user.target" if is_root else "default.target",
    )


def _own(joining: Joining, directory: Path) -> dict[str, object]:
    given = joining.model_dump(exclude={"url"}, exclude_none=True)
    return {**given, "directory": directory, "gateway_url": joining.url}


def _words() -> list[str]:
    return [sys.executable, "-P", "-m", "worker"]


def _environment(joining: Joining, directory: Path) -> dict[str, str]:
    kept = {name: value for name, value in inherited_environment().items() if name not in _SECRETS}
    return kept | joining.environment(directory)


def _load(directory: Path) -> Mapping[str, object]:
    path = directory / KEPT
    if not path.exists():
        return {}
    try:
        return Joining.model_validate_json(path.read_text()).model_dump(exclude_none=True)
    except (ValidationError, OSError) as error:
        raise Rejected(
            "join_unreadable", f"{path} cannot be read: {error}", hint="remove it and join anew"
        ) from error


def _keep(joining: Joining, directory: Path) -> None:
    path = directory / KEPT
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as target:
        target.write(joining.model_dump_json(exclude_none=True))


def _is_same(joining: Joining, directory: Path) -> bool:
    """Whether the machine joined the same platform before, in the same pool and under the same name."""
    kept = _load(directory)
    return all(kept.get(name) == getattr(joining, name) for name in ("url", "id", "pool"))


def _host_name() -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname()).strip("-")[:63] or "worker"


def _address_towards(url: str) -> str:
    """This machine's address on the way to the platform."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        family, *_, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as towards:
            towards.connect(target)  # sends nothing
            return str(towards.getsockname()[0])
    except OSError as error:
        raise Transient(f"the platform at {url} is not reachable: {error}", 1.0, "unreachable") from error


def _check_bus(joining: Joining, badge: Badge) -> None:
    """Raises Rejected where the bus is said to be at an address that only its own machine reaches, and this is another."""
    told = badge.credentials.nats_url if badge.credentials else ""
    if _is_loopback(urlsplit(told).hostname or "") and not _is_loopback(urlsplit(joining.url).hostname or ""):
        raise Rejected(
            "bus_unreachable",
            f"the platform says that its bus is at {told}, which only its own machine reaches",
            hint="have its administrator set MUSTER_SCHEDULER__WORKER_NATS_URL, and the bus listen there",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
