"""Certificates for the object store's internal connections on loopback; the authority's key is discarded."""

from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from deploy.embedded.host.ports import LOOPBACK
from deploy.embedded.servers.base import write_private
from deploy.embedded.servers.s3 import AUTHORITY, CERTIFICATE, KEY

LIFE = timedelta(days=3650)


def make_certificates(directory: Path, now: datetime) -> None:
    """Create an authority and one shared certificate, unless they exist."""
    if all((directory / name).exists() for name in (AUTHORITY, CERTIFICATE, KEY)):
        return
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority_key, part_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name, part_name = _name("muster object store"), _name("muster object store part")
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    part = (
        _builder(part_name, authority_name, part_key.public_key(), now)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    write_private(directory / AUTHORITY, _pem(authority))
    write_private(directory / CERTIFICATE, _pem(part))
    write_private(
        directory / KEY,
        part_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + LIFE)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
