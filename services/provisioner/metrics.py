"""Metrics of the provisioner for Prometheus: calls to providers and the machines that they launched."""

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
    "muster_provisioner_machines_launched", "Machines that a provider brought", ["provider"]
)
REFUSALS = Counter(
    "muster_provisioner_refusals",
    "Launches that a provider refused and machines that did not join or were unfit, by cause",
    ["provider", "cause"],
)


@contextmanager
def provider_call(provider: str, operation: str) -> Iterator[None]:
    """Observe the duration of a call, and its error by kind."""
    started, error_type = perf_counter(), ""
    try:
        yield
    except MusterError as error:
        error_type = error.kind
        raise
    finally:
        _CALL_DURATION.labels(provider, operation, error_type).observe(perf_counter() - started)
