"""Rate-limited EC2 calls, with errors translated. The only module that imports the AWS library."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from services.provisioner.drivers.aws.error_codes import NO_ANSWER, cause_of
from services.provisioner.drivers.rate_limit import RateLimiter, Throttled
from shared.clock import Clock
from shared.errors import MusterError, Rejected, Transient

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 5, 30
TIMEOUT = timedelta(seconds=30)
_CHANGES_PER_S, _CHANGES_BURST = 2.0, 5
_READS_PER_S, _READS_BURST = 10.0, 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key. Without one the library uses the machine's role, the environment or a file."""

    key_id: str
    secret: str
    session_token: str | None = None


class AwsRefused(Rejected):
    """AWS refused a call; `code` is the AWS error code."""


def open_client(
    region: str, credentials: Credentials | None = None, endpoint: str | None = None
) -> AbstractAsyncContextManager[Any]:
    """Return an EC2 client of a region, as a context manager. It makes each call once: rate limits and retries are ours."""
    config = AioConfig(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=20,
    )
    given = credentials or Credentials("", "")
    client: AbstractAsyncContextManager[Any] = get_session().create_client(
        "ec2",
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id=given.key_id or None,
        aws_secret_access_key=given.secret or None,
        aws_session_token=given.session_token,
        config=config,
    )
    return client


class Ec2:
    """The EC2 calls of the driver."""

    def __init__(self, client: Any, clock: Clock, chance: Random) -> None:
        self._client = client
        self._changes = RateLimiter(_CHANGES_PER_S, _CHANGES_BURST, TIMEOUT, clock, chance)
        self._reads = RateLimiter(_READS_PER_S, _READS_BURST, TIMEOUT, clock, chance)

    async def run_instances(self, request: dict[str, Any]) -> Sequence[dict[str, Any]]:
        """Return the instances that were launched now or before with the same client token."""
        answer = await self._changes.call(lambda: self._ask("run_instances", **request))
        return answer["Instances"]  # type: ignore[no-any-return]

    async def describe(self, filters: dict[str, Sequence[str]]) -> list[dict[str, Any]]:
        """Return all matching instances, page by page."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        named = [{"Name": name, "Values": list(values)} for name, values in filters.items()]
        while True:
            answer = await self._reads.call(self._asking(named, cursor))
            found += [one for group in answer["Reservations"] for one in group["Instances"]]
            if not (token := answer.get("NextToken")):
                return found
            cursor = {"NextToken": token}

    async def terminate(self, ids: Sequence[str]) -> None:
        """Start to terminate these instances: all of them, or none if one is unknown."""
        await self._changes.call(lambda: self._ask("terminate_instances", InstanceIds=list(ids)))

    async def start(self, name: str) -> None:
        """Start a stopped instance."""
        await self._changes.call(lambda: self._ask("start_instances", InstanceIds=[name]))

    def _asking(self, filters: list[dict[str, Any]], cursor: dict[str, str]) -> Callable[[], Any]:
        return lambda: self._ask("describe_instances", Filters=filters, MaxResults=1000, **cursor)

    async def _ask(self, operation: str, **request: Any) -> dict[str, Any]:
        """Make one call.

        Raises:
            Throttled: The call had no effect because of the rate limit.
            Refused: The call had no effect.
            Transient: The call may have taken effect.
        """
        with translated_errors():
            return await getattr(self._client, operation)(**request)  # type: ignore[no-any-return]


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate errors of the AWS library to Throttled, Refused, or Transient if the call may have taken effect."""
    try:
        yield
    except ClientError as error:
        raise _translated(error) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AwsRefused("AuthFailure", f"no AWS credentials were found: {error}") from error
    except BotoCoreError as error:
        # The library rejects such requests before it sends them.
        if type(error).__name__ in ("ParamValidationError", "UnknownRegionError", "InvalidRegionError"):
            raise AwsRefused("InvalidRequest", str(error)) from error
        raise Transient(f"AWS did not answer: {error}") from error
    except (OSError, TimeoutError) as error:
        raise Transient(f"AWS did not answer: {error!r}") from error


def _translated(error: ClientError) -> MusterError:
    details = error.response.get("Error", {})
    code, message = str(details.get("Code", "Unknown")), str(details.get("Message", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if cause_of(code) == "throttled":
        return Throttled(f"AWS throttled the call: {message} ({code})")
    if code in NO_ANSWER or (status >= 500 and cause_of(code) == "unknown"):
        return Transient(f"AWS failed with an internal error: {message} ({code})")
    return AwsRefused(code, message)
