"""Where the identities lie; `files.py` makes them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Keys:
    """A directory of identities."""

    directory: Path

    @property
    def server_conf(self) -> Path:
        """What the NATS server's configuration includes: operator, accounts, resolver."""
        return self.directory / "server.conf"

    @property
    def worker_issuer(self) -> Path:
        """The scoped signing key; given to the scheduler only."""
        return self.directory / "worker-issuer.json"

    @property
    def revoked(self) -> Path:
        """Public keys that the server lets in no more, each with whose it was; missing while there is none."""
        return self.directory / "revoked.json"

    @property
    def retiring(self) -> Path:
        """The account's former signing keys while what they signed still counts; missing otherwise."""
        return self.directory / "retiring.json"

    def credentials(self, identity: str) -> Path:
        """The `.creds` file of a service, or of `admin`."""
        return self.directory / f"{identity}.creds"
