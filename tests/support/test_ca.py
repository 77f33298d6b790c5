"""A small authority of the tests' own, and the certificates that it signs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = x509.IPAddress(ip_address("127.0.0.1"))


@dataclass
class Authority:
    """A small authority: what it signs is PEM."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, *names: x509.GeneralName, lasts: timedelta = timedelta(days=1)) -> tuple[bytes, bytes]:
        """A certificate and its key, valid from an hour ago until `lasts` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder("leaf", key, self.certificate.subject, lasts)
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem(key)


def authority(name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _builder(name, key, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(key, made.sign(key, hashes.SHA256()))


def _builder(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name, lasts: timedelta = timedelta(days=1)
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + lasts)
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
