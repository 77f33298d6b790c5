"""Encrypted doors: the certificate files as they are now. Who renews them writes them anew; nothing is restarted."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from muster.errors import Rejected

_log = structlog.get_logger()
_Mark = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: our certificate with its chain, its key, and the authorities that sign clients' certificates."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def mark(self) -> _Mark:
        """Another when one of them was written anew."""
        paths = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        return tuple((found.st_mtime_ns, found.st_size) for found in (path.stat() for path in paths))


class Tls:
    """What REST and gRPC encrypt with. A new pair that does not fit together is told, and the one before stays."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises Rejected (`bad_settings`) for files that are not there, or do not fit together."""
        self._files = files
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self._rest_mark = self._grpc_mark = files.mark()
            self.context.load_cert_chain(files.certificate, files.key)
            self._configuration = self._read()
        except (OSError, ValueError) as error:
            place = "MUSTER_GATEWAY__TLS_CERTIFICATE_FILE"
            raise Rejected("bad_settings", f"{files.certificate}, {files.key}: {error}", place) from error

    def credentials(self) -> grpc.ServerCredentials:
        """gRPC's. It asks before each connection whether there are other files."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration,
            self._newer,  # type: ignore[arg-type]  # None for what is as it was: the stubs leave it out
            require_client_authentication=self._files.client_ca is not None,
        )

    async def refresh(self) -> None:
        """REST's next connections have the files' newest certificate."""
        try:
            mark = self._files.mark()
            if mark == self._rest_mark:
                return
            self._rest_mark = mark
            # Tried on a context of its own: half of a pair would be kept by the one in use.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._files.certificate, self._files.key)
            self.context.load_cert_chain(self._files.certificate, self._files.key)
        except (OSError, ValueError) as error:
            _log.warning("new certificate files were not taken", reason=str(error))
            return
        _log.info("a new certificate was taken")

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC in a thread of its own."""
        try:
            mark = self._files.mark()
            if mark == self._grpc_mark:
                return None
            self._grpc_mark = mark
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._files.certificate, self._files.key)
            return self._read()
        except (OSError, ValueError) as error:
            _log.warning("new certificate files were not taken", reason=str(error))
            return None

    def _read(self) -> grpc.ServerCertificateConfiguration:
        pair = (self._files.key.read_bytes(), self._files.certificate.read_bytes())
        roots = self._files.client_ca.read_bytes() if self._files.client_ca else None
        return grpc.ssl_server_certificate_configuration([pair], roots)
