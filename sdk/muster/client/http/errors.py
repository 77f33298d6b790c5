"""Errors between a client and the gateway, as `muster.errors`, and the time limit of retries."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import httpx

from muster.errors import Broken, Conflict, MusterError, NotFound, Rejected, Transient, from_problem

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 10.0
LONGEST_PAUSE_S = 2.0
RETRY_TIMEOUT_S = 60.0
PROBLEM = "application/problem+json"
CONNECTION_LOST = "connection_lost"
"""The request was sent, completely or in part, and not answered."""
GATEWAY_UNAVAILABLE_STATUSES = "gateway_away"
"""An intermediary such as a proxy answered: the gateway may have received the request."""


class RetryDeadline:
    """Time limit of retries without another deadline: a minute without a success."""

    def __init__(
        self, sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Restart the time limit after a success."""
        self._attempt = 0
        self._since = self._clock()

    def bear(self, error: Transient) -> None:
        """Wait before the next attempt; raise `error` when the time limit is reached."""
        pause_s = min(wait_s(self._attempt, error.retry_after_s), LONGEST_PAUSE_S)
        self._attempt += 1
        if self._clock() - self._since + pause_s > RETRY_TIMEOUT_S:
            raise error
        self._sleep(pause_s)


def wait_s(attempt: int, retry_after_s: float = 0.0) -> float:
    """Return the pause before the attempt after `attempt` (from 0): exponential backoff with jitter, at least `retry_after_s`."""
    backoff = min(FIRST_WAIT_S * (1 << attempt), LONGEST_WAIT_S)
    return max(min(retry_after_s, LONGEST_WAIT_S), backoff) * random.uniform(0.75, 1.25)


_LOOK = {
    "platform": "check with `muster status` whether it runs, or start it with `muster up`",
    "object store": "try again, or ask the site administrator whether it runs",
}


@contextmanager
def reached(url: str, who: Literal["platform", "object store"] = "platform") -> Iterator[None]:
    """Convert exceptions of httpx to `muster.errors`."""
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Rejected(
            "bad_url", f"{url!r} is not an address of the {who}", hint="write http://host:port"
        ) from error
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise Transient(
            f"the {who} at {url} cannot be reached ({str(error) or type(error).__name__}): {_LOOK[who]}",
            code="unreachable",
        ) from error
    except httpx.TransportError as error:
        raise Transient(
            f"the connection to the {who} at {url} broke ({type(error).__name__}): try again",
            code=CONNECTION_LOST,
        ) from error


def problem_of(answer: httpx.Response) -> MusterError:
    """Return the error of a problem+json response, else one derived from the status."""
    if answer.headers.get("content-type", "").startswith(PROBLEM):
        try:
            problem = answer.json()
        except ValueError:
            problem = None
        if isinstance(problem, dict):
            return _with_retry_after(from_problem(problem), answer)
    return _with_retry_after(_plain(answer), answer)


def _plain(answer: httpx.Response) -> MusterError:
    message = (
        f"{answer.request.method} {answer.request.url.path} was answered with status {answer.status_code}"
    )
    match answer.status_code:
        case 404:
            return NotFound(
                f"{answer.request.url.path} at {answer.request.url.host}",
                hint="check that the address is a Muster platform",
            )
        case 409:
            return Conflict("conflict", message)
        case 429 | 503:
            return Transient(message)
        case 502 | 504:
            return Transient(message, code=GATEWAY_UNAVAILABLE_STATUSES)
        case status if status < 500:
            return Rejected("refused", message)
        case _:
            return Broken(message)


def _with_retry_after(error: MusterError, answer: httpx.Response) -> MusterError:
    if isinstance(error, Transient):
        with contextlib.suppress(ValueError):  # a date: keep the problem's own value, or the default
            error.retry_after_s = max(error.retry_after_s, float(answer.headers.get("retry-after", "0")))
    return error
