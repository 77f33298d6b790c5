"""What goes wrong between a client and the gateway, as the tree's errors, and how long it is borne."""

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
"""It was sent, wholly or in part, and not answered."""
GATEWAY_UNAVAILABLE_STATUSES = "gateway_away"
"""Answered by something between, such as a proxy: what it was sent to may have it."""


class RetryDeadline:
    """How long something that is away is waited for, by those who have no other end: a minute without a success."""

    def __init__(
        self, sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Something went well."""
        self._attempt = 0
        self._since = self._clock()

    def bear(self, error: Transient) -> None:
        """Wait before the next attempt; raise `error` when patience is at its end."""
        pause_s = min(wait_s(self._attempt, error.retry_after_s), LONGEST_PAUSE_S)
        self._attempt += 1
        if self._clock() - self._since + pause_s > RETRY_TIMEOUT_S:
            raise error
        self._sleep(pause_s)


def wait_s(attempt: int, retry_after_s: float = 0.0) -> float:
    """Return how long to wait before the attempt after `attempt` (from 0): doubling, jittered, never too soon."""
    backoff = min(FIRST_WAIT_S * (1 << attempt), LONGEST_WAIT_S)
    return max(min(retry_after_s, LONGEST_WAIT_S), backoff) * random.uniform(0.75, 1.25)


_LOOK = {
    "platform": "is it running? `muster status` tells, `muster up` starts it",
    "object store": "try again; who keeps the site can tell whether it runs",
}


@contextmanager
def reached(url: str, who: Literal["platform", "object store"] = "platform") -> Iterator[None]:
    """Raise what httpx raises as the tree's errors, about whoever is asked there."""
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Rejected(
            "bad_url", f"{url!r} is no address of the {who}", hint="write http://host:port"
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
    """Return the error that `answer` states as problem+json, else one made of its status."""
    if answer.headers.get("content-type", "").startswith(PROBLEM):
        try:
            problem = answer.json()
        except ValueError:
            problem = None
        if isinstance(problem, dict):
            return _with_retry_after(from_problem(problem), answer)
    return _with_retry_after(_plain(answer), answer)


def _plain(answer: httpx.Response) -> MusterError:
    said = f"{answer.request.method} {answer.request.url.path} was answered with status {answer.status_code}"
    match answer.status_code:
        case 404:
            return NotFound(
                f"{answer.request.url.path} at {answer.request.url.host}", hint="is this a Muster platform?"
            )
        case 409:
            return Conflict("conflict", said)
        case 429 | 503:
            return Transient(said)
        case 502 | 504:
            return Transient(said, code=GATEWAY_UNAVAILABLE_STATUSES)
        case status if status < 500:
            return Rejected("refused", said)
        case _:
            return Broken(said)


def _with_retry_after(error: MusterError, answer: httpx.Response) -> MusterError:
    if isinstance(error, Transient):
        with contextlib.suppress(ValueError):  # a date: the problem's own figure, or the default, stands
            error.retry_after_s = max(error.retry_after_s, float(answer.headers.get("retry-after", "0")))
    return error
