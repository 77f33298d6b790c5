"""A secret's identity, and its encrypted form. Pure."""

from dataclasses import dataclass

from shared.ids import TenantId


@dataclass(frozen=True, slots=True)
class SecretId:
    """Identifies a secret. Both ciphertexts are bound to it, so that they cannot be moved to another row."""

    tenant: TenantId
    workspace: str
    name: str

    @property
    def context(self) -> bytes:
        """The associated data; the separator occurs in no workspace and no name."""
        return b"\x00".join((self.tenant.bytes, self.workspace.encode(), self.name.encode()))


@dataclass(frozen=True, slots=True)
class Envelope:
    """An encrypted value, its encrypted data key, and the id of the master key."""

    key_id: str
    wrapped_key: bytes
    sealed_value: bytes
