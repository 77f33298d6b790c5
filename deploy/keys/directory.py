"""Paths of the NATS identities; `files.py` creates them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Keys:
    """A directory of identities."""

    directory: Path

    @property
    def server_conf(self) -> Path:
        """The file that the NATS server's configuration includes: operator, accounts, resolver."""
        return self.directory / "server.conf"

    @property
    def worker_issuer(self) -> Path:
        """The scoped signing key; given to the scheduler only."""
        return self.directory / "worker-issuer.json"

    @property
    def revoked(self) -> Path:
        """Revoked public keys with their owners; missing while there are none."""
        return self.directory / "revoked.json"

    @property
    def retiring(self) -> Path:
        """The account's former signing keys while they are still valid; missing otherwise."""
        return self.directory / "retiring.json"

    def credentials(self, identity: str) -> Path:
        """The `.creds` file of a service, or of `admin`."""
        return self.directory / f"{identity}.creds"
