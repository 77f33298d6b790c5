"""TLS of the servers. Renewed certificate files are loaded without a restart."""

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
    """PEM files: the server's certificate with its chain, its key, and the CAs of client certificates."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def mark(self) -> _Mark:
        """Return a value that changes when one of the files is rewritten."""
        paths = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        return tuple((found.st_mtime_ns, found.st_size) for found in (path.stat() for path in paths))


class Tls:
    """TLS settings of REST and gRPC. If a new certificate and key do not match, a warning is logged and the old pair stays in use."""

    def __init__(self, files: TlsFiles) -> None:
        """Load the files. Raises Rejected (`bad_settings`) if they are missing or do not match."""
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
        """Return the credentials of the gRPC server, which checks for new files before each connection."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration,
            self._newer,  # type: ignore[arg-type]  # None means unchanged, which the stubs leave out
            require_client_authentication=self._files.client_ca is not None,
        )

    async def refresh(self) -> None:
        """Load the newest certificate for new REST connections."""
        try:
            mark = self._files.mark()
            if mark == self._rest_mark:
                return
            self._rest_mark = mark
            # Try a separate context first: a failing load could leave the active one with half of the pair.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._files.certificate, self._files.key)
            self.context.load_cert_chain(self._files.certificate, self._files.key)
        except (OSError, ValueError) as error:
            _log.warning("new certificate files were not loaded", reason=str(error))
            return
        _log.info("new certificate loaded")

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        """Return a new gRPC configuration, or None if the files have not changed. gRPC calls it in its own thread."""
        try:
            mark = self._files.mark()
            if mark == self._grpc_mark:
                return None
            self._grpc_mark = mark
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._files.certificate, self._files.key)
            return self._read()
        except (OSError, ValueError) as error:
            _log.warning("new certificate files were not loaded", reason=str(error))
            return None

    def _read(self) -> grpc.ServerCertificateConfiguration:
        pair = (self._files.key.read_bytes(), self._files.certificate.read_bytes())
        roots = self._files.client_ca.read_bytes() if self._files.client_ca else None
        return grpc.ssl_server_certificate_configuration([pair], roots)
