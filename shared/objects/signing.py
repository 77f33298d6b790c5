"""Requests signed for their content: Signature V4 in the query, with a checksum among the signed headers.

The `minio` client signs URLs only for the host; botocore's signer gives equal URLs, but does not accept a clock (decision 0271).
See AWS, "Authenticating Requests: Using Query Parameters (Signature Version 4)".
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote, urlsplit

CHECKSUM = "x-amz-checksum-sha256"
"""Sent as a header, never in the query, where AWS signs it but does not check it."""
CHECKSUM_ASKED = {"x-amz-checksum-mode": "ENABLED"}
"""With a HEAD request: return the checksum computed when the object was received."""
_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Signer:
    """Credentials and region for signing."""

    access_key: str
    secret_key: str
    region: str

    def presign(
        self, method: str, address: str, headers: Mapping[str, str], now: datetime, life: timedelta
    ) -> str:
        """Return the address (without a query) as a URL that is valid with these headers (lower-case names) for the lifetime."""
        parts = urlsplit(address)
        instant = now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{instant[:8]}/{self.region}/s3/aws4_request"
        signed = dict(sorted({**headers, "host": parts.netloc}.items()))
        names = ";".join(signed)
        query = {
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{self.access_key}/{scope}",
            "X-Amz-Date": instant,
            "X-Amz-Expires": str(int(life.total_seconds())),
            "X-Amz-SignedHeaders": names,
        }
        parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(query.items()))
        lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
        request = f"{method}\n{parts.path}\n{parameters}\n{lines}\n{names}\nUNSIGNED-PAYLOAD"
        claim = f"{_ALGORITHM}\n{instant}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        return f"{address}?{parameters}&X-Amz-Signature={self._seal(scope, claim)}"

    def _seal(self, scope: str, claim: str) -> str:
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, claim.encode(), "sha256").hex()


def checksum(sha256: str) -> str:
    """Return a SHA-256 in hex in the format of S3 headers."""
    return b64encode(bytes.fromhex(sha256)).decode()


def read_checksum(header: str | None) -> str | None:
    """Return the SHA-256 in hex; None if the header is not that of a whole object (multipart checksums have a number appended)."""
    if header is None or len(header) != 44:
        return None
    return b64decode(header).hex()
