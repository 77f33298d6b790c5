"""TLS certificates: in files of this machine, and those that servers present."""

import json
import socket
import ssl
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from deploy.checks.findings import Finding, error, ok, warning
from deploy.checks.servers.endpoints import Endpoint

WHY = "Clients refuse connections to a server whose certificate has expired, or that an authority they do not know has signed."
SOON = timedelta(days=14)
_RENEW = "renew the certificate; services load new files without a restart"
_CONNECT_S = 5.0
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


def check_certificate_file(path: Path, now: datetime) -> Finding:
    """Check the validity of every certificate in a PEM file."""
    try:
        certificates = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as failure:
        return error(
            f"{path} cannot be read: {failure.strerror}",
            "correct the path in the settings, or the permissions of the file",
        )
    except ValueError as failure:
        return error(
            f"{path} has no certificate: {failure}", "use a PEM file that begins with BEGIN CERTIFICATE"
        )
    return judge(certificates, now)


def check_server_certificate(endpoint: Endpoint, now: datetime) -> Finding:
    """Connect as a client would, with the authorities of this machine (`SSL_CERT_FILE` included), or of the address."""
    try:
        certificate = _presented(endpoint, _context(endpoint))
    except ssl.SSLCertVerificationError as failure:
        return _untrusted(endpoint, failure, now)
    except (OSError, ValueError) as failure:
        return error(
            f"{endpoint.host}:{endpoint.port} does not offer TLS: {failure}",
            f"start the server, or correct {endpoint.setting}",
        )
    return judge([certificate], now)


def judge(certificates: Sequence[x509.Certificate], now: datetime) -> Finding:
    """Judge certificates by their dates: the first to expire counts."""
    first = min(certificates, key=lambda one: one.not_valid_after_utc)
    name, until = _name(first), first.not_valid_after_utc
    begins = max(one.not_valid_before_utc for one in certificates)
    if until <= now:
        return error(f"the certificate of {name} expired on {until:%Y-%m-%d %H:%M} UTC", _RENEW)
    if begins > now:
        return error(
            f"the certificate of {name} is not valid before {begins:%Y-%m-%d %H:%M} UTC",
            "check this machine's clock",
        )
    if until - now < SOON:
        return warning(f"the certificate of {name} expires on {until:%Y-%m-%d %H:%M} UTC", _RENEW)
    return ok(f"{name}, valid until {until:%Y-%m-%d}")


def _untrusted(endpoint: Endpoint, failure: ssl.SSLCertVerificationError, now: datetime) -> Finding:
    """Say why a certificate was refused: by its dates if these are the reason, else in the words of OpenSSL."""
    certificate = _presented(endpoint, _unchecked())
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        return judge([certificate], now)
    return error(
        f"the certificate of {endpoint.host} is not accepted: {failure.verify_message or failure}",
        "use a certificate for this name, or add the site's authority to this machine's (update-ca-certificates), or set SSL_CERT_FILE",
    )


def _context(endpoint: Endpoint) -> ssl.SSLContext:
    if endpoint.ssl_mode == "require":  # Postgres's clients encrypt then, and verify nothing
        return _unchecked()
    context = ssl.create_default_context(cafile=endpoint.ca_file)
    context.check_hostname = endpoint.ssl_mode != "verify-ca"
    return context


def _unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _presented(endpoint: Endpoint, context: ssl.SSLContext) -> x509.Certificate:
    with socket.create_connection((endpoint.host, endpoint.port), timeout=_CONNECT_S) as plain:
        if endpoint.scheme == "tls":
            _read_nats_info(plain)
        if endpoint.is_postgres:
            _request_tls_of_postgres(plain)
        with context.wrap_socket(plain, server_hostname=endpoint.host) as secure:
            found = secure.getpeercert(binary_form=True)
    if not found:
        raise ValueError("the server presented no certificate")
    return x509.load_der_x509_certificate(found)


def _read_nats_info(plain: socket.socket) -> None:
    """NATS sends one line in plain text before its clients begin with TLS."""
    line = b""
    while not line.endswith(b"\n") and (piece := plain.recv(1)):
        line += piece
    if not json.loads(line.removeprefix(b"INFO") or b"{}").get("tls_required"):
        raise ValueError("the NATS server does not require TLS")


def _request_tls_of_postgres(plain: socket.socket) -> None:
    """Postgres begins with TLS after a request (SSLRequest) that it accepts."""
    plain.sendall(_SSL_REQUEST)
    if plain.recv(1) != b"S":
        raise ValueError("the Postgres server accepts no TLS")


def _name(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or "a server without a subject"
