"""Identify a machine by its instance identity document and AWS's signature.

See the EC2 user guide, "Verify the instance identity document", base64. The document is not secret and never changes;
`queries/identities` decides what it permits.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_pem_x509_certificates

from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """Verifies documents of a region with the keys of the site's pinned certificates."""

    region: str
    keys: Sequence[RSAPublicKey]

    async def machine_of(self, document: str, signature: str) -> str:
        """Return the instance id. See `Identity.machine_of`."""
        try:
            signed = b64decode("".join(signature.split()), validate=True)
        except (NotBase64, ValueError):
            raise _not_ours("its signature is not base64") from None
        if not any(_has_signed(key, signed, document.encode()) for key in self.keys):
            raise _not_ours("no pinned certificate matches its signature")
        claims = orjson.loads(document)
        if claims.get("region") != self.region:
            raise _not_ours(f"its region is {claims.get('region')}, but the provider's is {self.region}")
        return str(claims.get("instanceId"))


def read_keys(path: Path) -> list[RSAPublicKey]:
    """Return the keys of a PEM file of certificates. Raises Rejected (`bad_providers`)."""
    try:
        found = [one.public_key() for one in load_pem_x509_certificates(path.read_bytes())]
    except (OSError, ValueError) as error:
        raise Rejected("bad_providers", f"{path} cannot be read: {error}", "identity_certificates") from error
    keys = [key for key in found if isinstance(key, RSAPublicKey)]
    if len(keys) < len(found):
        hint = "use AWS's RSA certificates of the region, not the DSA certificates"
        raise Rejected(
            "bad_providers", f"{path} has a certificate without an RSA key", "identity_certificates", hint
        )
    return keys


def _has_signed(key: RSAPublicKey, signature: bytes, document: bytes) -> bool:
    try:
        key.verify(signature, document, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


def _not_ours(why: str) -> Rejected:
    return Rejected("bad_identity", f"the machine's identity document is not valid here: {why}")
