"""Waiting for the end of an experiment."""

import time
from collections.abc import Callable

from muster.client.http.errors import RetryDeadline
from muster.client.models import ExperimentDetail
from muster.errors import Transient

POLL_S = (0.1, 0.2, 0.4, 0.8)
"""Pauses between requests; restarts from the first one after a change."""


def until_final(
    look: Callable[[], ExperimentDetail],
    timeout_s: float | None,
    on_look: Callable[[ExperimentDetail], None] | None,
) -> ExperimentDetail:
    """Poll until the experiment is final, and return it; `on_look` is called after every request.

    Raises:
        Transient: The experiment is not final after `timeout_s`, or the platform stays unavailable.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    retry_limit = RetryDeadline()
    version, polls = -1, 0
    while True:
        try:
            seen = look()
        except Transient as error:
            retry_limit.bear(error)
            continue
        retry_limit.reset()
        if seen.version != version:
            version, polls = seen.version, 0
        if on_look is not None:
            on_look(seen)
        if seen.final:
            return seen
        if deadline is not None and time.monotonic() >= deadline:
            message = f"experiment {seen.number} is still {seen.state} after {timeout_s:g} s"
            raise Transient(
                f"{message}: wait longer, or check the reason with `muster queue`", code="timeout"
            )
        time.sleep(POLL_S[min(polls, len(POLL_S) - 1)])
        polls += 1
