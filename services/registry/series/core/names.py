"""Rules for metric names, and how many of them a report and a run may have."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from services.registry.core.names import CONTROL, InputRefusal, is_text

METRIC_NAME_BYTES = 256
METRICS_PER_REPORT = 1_000
SERIES_PER_RUN = 10_000
VALIDATION_GROUP = "validation"
"""Group of validation metrics."""
SeriesName = tuple[str, str]
"""Group and name."""


def refuse_metric_name(name: str) -> InputRefusal | None:
    """Return why a metric name is rejected; None if it is valid."""
    return _refuse_long_name(name) if len(name) > METRIC_NAME_BYTES else _refuse_short_name(name)


@lru_cache(maxsize=16_384)
def _refuse_short_name(name: str) -> InputRefusal | None:
    """Cached: every point has a name, and nearly all are known."""
    if not name.strip():
        return InputRefusal("metric_name_blank", "The metric name must not be blank.")
    if len(name.encode("utf-8", "surrogatepass")) > METRIC_NAME_BYTES:
        return _refuse_long_name(name)
    if CONTROL.search(name) or not is_text(name):
        return InputRefusal(
            "metric_name_characters",
            f"The metric name {name!r} must not contain control characters or invalid Unicode.",
        )
    return None


def _refuse_long_name(name: str) -> InputRefusal:
    reason = f"The metric name {name[:40]!r}… has more than {METRIC_NAME_BYTES} bytes; shorten it."
    return InputRefusal("metric_name_long", reason)


def refuse_report(names: int) -> InputRefusal | None:
    """Return why a report with this many metrics is rejected; None if it is valid."""
    if names <= METRICS_PER_REPORT:
        return None
    return InputRefusal(
        "metrics_too_many",
        f"A report has {names} metrics; only the first {METRICS_PER_REPORT} are stored. "
        "Save large tables as checkpoint files.",
    )


def choose_new_series(
    known: Collection[SeriesName], new: Sequence[SeriesName]
) -> tuple[Sequence[SeriesName], InputRefusal | None]:
    """Return which new series a run may have, and why the others are rejected: the first ones, up to the limit.

    Validations, which searches use, have a limit of their own, so that a flood of other names does not exhaust it.
    """
    accepted: list[SeriesName] = []
    for is_validation in (True, False):
        held = sum((group == VALIDATION_GROUP) is is_validation for group, _ in known)
        wanted = [name for name in new if (name[0] == VALIDATION_GROUP) is is_validation]
        accepted += wanted[: max(0, SERIES_PER_RUN - held)]
    if len(accepted) == len(new):
        return accepted, None
    return accepted, InputRefusal(
        "series_too_many",
        f"The run would have {len(known) + len(new)} metric names; at most {SERIES_PER_RUN} are stored, plus as many of validations. "
        "Report fewer names with more steps.",
    )
