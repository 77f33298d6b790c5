"""The only reader of the wall clock in the SDK."""

import time


def now_ms() -> int:
    """Return milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
