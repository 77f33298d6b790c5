"""AWS's word of which instance a machine is, as a certificate of ours signs it."""

import json
from base64 import encodebytes
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateBuilder, Name, random_serial_number

BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


class Signer:
    """A key with its certificate at `certificate`."""

    def __init__(self, folder: Path, name: str = "aws") -> None:
        self._key = generate_private_key(65537, 2048)
        unnamed, public = Name([]), self._key.public_key()
        builder = CertificateBuilder(unnamed, unnamed, public, random_serial_number())
        lasting = builder.not_valid_before(BEGIN).not_valid_after(BEGIN + timedelta(days=36500))
        signed = lasting.sign(self._key, SHA256())
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(signed.public_bytes(Encoding.PEM))

    def identity(self, instance: str, region: str = "us-east-1") -> dict[str, str]:
        """The document and its signature, folded in lines as AWS serves it."""
        document = json.dumps({"accountId": "123456789012", "instanceId": instance, "region": region})
        signature = self._key.sign(document.encode(), PKCS1v15(), SHA256())
        return {"document": document, "signature": encodebytes(signature).decode()}
