"""Clients of cloud metadata services. Neighbours: `reclaim_notices`, `identity`."""

import aiohttp

from muster.errors import Transient

TIMEOUT = aiohttp.ClientTimeout(total=2)
AWS_URL = "http://169.254.169.254"
GCP_URL = "http://metadata.google.internal"
_LIFE = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}


class AwsMetadata:
    """EC2's metadata service, by IMDSv2 with a session token that is renewed when it expires."""

    def __init__(self, session: aiohttp.ClientSession, url: str | None = None) -> None:
        self._session = session
        self._url = f"{(url or AWS_URL).rstrip('/')}/latest"
        self._token: str | None = None

    async def get(self, path: str) -> str | None:
        """Return the text at `path`, such as `meta-data/instance-id`; None if it does not exist. Raises Transient without an answer."""
        for _ in range(2):
            if self._token is None:
                _, self._token = await ask(self._session, "PUT", f"{self._url}/api/token", _LIFE)
            header = {"X-aws-ec2-metadata-token": self._token or ""}
            status, text = await ask(self._session, "GET", f"{self._url}/{path}", header)
            if status != 401:
                return text
            self._token = None  # it expired
        raise Transient("the metadata service rejects its own session token")


class GcpMetadata:
    """Compute Engine's metadata service."""

    def __init__(self, session: aiohttp.ClientSession, url: str | None = None) -> None:
        self._session = session
        self._url = f"{(url or GCP_URL).rstrip('/')}/computeMetadata/v1/instance"

    async def get(self, path: str) -> str | None:
        """Return the text at `path`, such as `preempted`; None if it does not exist. Raises Transient without an answer."""
        _, text = await ask(self._session, "GET", f"{self._url}/{path}", {"Metadata-Flavor": "Google"})
        return text


async def ask(
    session: aiohttp.ClientSession, method: str, url: str, headers: dict[str, str]
) -> tuple[int, str | None]:
    """Return status and text; no text if the path does not exist. Raises Transient without an answer."""
    try:
        async with session.request(method, url, headers=headers, timeout=TIMEOUT) as answer:
            text = await answer.text()
    except (aiohttp.ClientError, TimeoutError, UnicodeDecodeError) as error:
        raise Transient(f"{url} did not answer: {error!r}") from error
    if answer.status in (401, 404):
        return answer.status, None
    if answer.status != 200:
        raise Transient(f"{url} answered {answer.status}")
    return answer.status, text
