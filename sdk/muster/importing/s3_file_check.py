"""Check for a file in an S3 store: one signed HEAD request (AWS Signature Version 4), without an S3 client library."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import httpx

from muster.errors import Rejected, Transient

_EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """An S3 store. Without an access key, requests are anonymous."""

    address: str
    access_key: str = ""
    secret_key: str = ""
    region: str = "us-east-1"
    now: Callable[[], datetime] = lambda: datetime.now(UTC)  # noqa: TID251 - a signature has the time of its request
    http: httpx.Client | None = None

    def has(self, bucket: str, key: str) -> bool:
        """Return whether the file exists.

        Raises:
            Rejected: The store refuses the access key, or `address` is invalid.
            Transient: The store does not answer.
        """
        place = urlsplit(self.address)
        if place.scheme not in ("http", "https") or not place.netloc:
            raise Rejected(
                "bad_address",
                f"{self.address!r} is not the address of a store",
                hint="use for example https://s3.eu-central-1.amazonaws.com",
            )
        path = f"{place.path.rstrip('/')}/{quote(bucket, safe='')}/{quote(key, safe='/-_.~')}"
        try:
            client = self.http or httpx.Client(timeout=20)
            answer = client.head(
                f"{place.scheme}://{place.netloc}{path}", headers=self._signed(place.netloc, path)
            )
        except httpx.HTTPError as error:
            raise Transient(f"{place.netloc} does not answer: {type(error).__name__}") from None
        if answer.status_code in (401, 403):
            raise Rejected(
                "store_refused",
                f"{place.netloc} refuses {bucket}/{key}",
                hint="pass --access-key and --secret-key with read access",
            )
        return answer.status_code == 200

    def _signed(self, host: str, path: str) -> dict[str, str]:
        if not self.access_key:
            return {}
        at = self.now().strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": host, "x-amz-content-sha256": _EMPTY, "x-amz-date": at}
        names = ";".join(headers)
        request = "\n".join(
            ("HEAD", path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, _EMPTY)
        )
        scope = f"{at[:8]}/{self.region}/s3/aws4_request"
        to_sign = "\n".join(("AWS4-HMAC-SHA256", at, scope, hashlib.sha256(request.encode()).hexdigest()))
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        signed = f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return headers | {"authorization": signed}
