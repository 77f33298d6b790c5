"""Prometheus metrics of the provisioner: calls to providers and launched machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import Counter, Histogram

from shared.errors import MusterError

_CALL_DURATION = Histogram(
    "muster_provisioner_call_duration_seconds",
    "Duration of calls to providers; `error_type` is empty for those that succeeded",
    ["provider", "operation", "error_type"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
MACHINES_LAUNCHED = Counter(
    "muster_provisioner_machines_launched", "Machines that a provider launched", ["provider"]
)
_REFUSALS = Counter(
    "muster_provisioner_refusals",
    "Launches that a provider refused and machines that did not join or were unfit, by cause",
    ["provider", "cause"],
)


@contextmanager
def provider_call(provider: str, operation: str) -> Iterator[None]:
    """Record the duration of a call and the kind of its error: `cancelled`, or `error` if it is not the driver's own."""
    started, error_type = perf_counter(), ""
    try:
        yield
    except BaseException as error:
        error_type = _type_of(error)
        raise
    finally:
        _CALL_DURATION.labels(provider, operation, error_type).observe(perf_counter() - started)


async def count_refusal(provider: str, cause: str) -> None:
    """Count a refusal that was committed."""
    _REFUSALS.labels(provider, cause).inc()


def _type_of(error: BaseException) -> str:
    if isinstance(error, MusterError):
        return error.kind
    return "error" if isinstance(error, Exception) else "cancelled"
