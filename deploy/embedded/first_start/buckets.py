"""Creates the platform's bucket, and writes to it once so that the first upload does not wait for volumes."""

import io
import time
from urllib.parse import urlsplit

from minio import Minio
from minio.error import MinioException
from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

from muster.errors import Transient

_PROBE = ".muster-probe"
_TIMEOUT_S = 20.0


def make_bucket(url: str, access_key: str, secret_key: str, bucket: str, *, locked: bool = False) -> None:
    """Create the bucket if it is missing, and check that it accepts an object.

    Args:
        locked: Create it with Object Lock. Its user tests that with an object of its own.

    Raises:
        Transient: the store did not accept an object in time.
    """
    parts = urlsplit(url)
    client = Minio(
        parts.netloc,
        access_key=access_key,
        secret_key=secret_key,
        secure=parts.scheme == "https",
        region="us-east-1",
        http_client=PoolManager(retries=False, timeout=Timeout(5.0)),
    )
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            if not client.bucket_exists(bucket):
                client.make_bucket(bucket, object_lock=locked)
                if not locked:
                    client.put_object(bucket, _PROBE, io.BytesIO(b"."), 1)
                    client.remove_object(bucket, _PROBE)
        except (MinioException, HTTPError) as error:
            if time.monotonic() > deadline:
                raise Transient(f"the object store at {url} does not accept objects: {error}", 5.0) from error
            time.sleep(0.2)
        else:
            return
