"""How metrics may be called, and how many of them a report and a run may have."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from services.registry.core.names import CONTROL, InputRefusal, is_text

METRIC_NAME_BYTES = 256
METRICS_PER_REPORT = 1_000
SERIES_PER_RUN = 10_000
VALIDATION_GROUP = "validation"
"""Of what is validated."""
SeriesName = tuple[str, str]
"""Group and name."""


def refuse_metric_name(name: str) -> InputRefusal | None:
    """Return why a metric may not be called so; None when it may."""
    return _refuse_long_name(name) if len(name) > METRIC_NAME_BYTES else _refuse_short_name(name)


@lru_cache(maxsize=16_384)
def _refuse_short_name(name: str) -> InputRefusal | None:
    """Kept in mind: every point has a name, and nearly all are known."""
    if not name.strip():
        return InputRefusal("metric_name_blank", "A metric needs a name.")
    if len(name.encode("utf-8", "surrogatepass")) > METRIC_NAME_BYTES:
        return _refuse_long_name(name)
    if CONTROL.search(name) or not is_text(name):
        return InputRefusal(
            "metric_name_characters",
            f"The metric name {name!r} has characters that cannot be shown.",
        )
    return None


def _refuse_long_name(name: str) -> InputRefusal:
    reason = f"The metric name {name[:40]!r}… has more than {METRIC_NAME_BYTES} bytes; shorten it."
    return InputRefusal("metric_name_long", reason)


def refuse_report(names: int) -> InputRefusal | None:
    """Return why a report with so many metrics is not taken; None when it is."""
    if names <= METRICS_PER_REPORT:
        return None
    return InputRefusal(
        "metrics_too_many",
        f"One report holds {names} metrics; at most {METRICS_PER_REPORT} are taken. "
        "Save large tables as files of a checkpoint.",
    )


def choose_new_series(
    known: Collection[SeriesName], new: Sequence[SeriesName]
) -> tuple[Sequence[SeriesName], InputRefusal | None]:
    """Return which series a run may begin, and why not the others: the first ones, as many as there is room for.

    Validations, by which searches go, have room of their own: a flood of other names takes none of it.
    """
    begun: list[SeriesName] = []
    for is_validation in (True, False):
        held = sum((group == VALIDATION_GROUP) is is_validation for group, _ in known)
        wanted = [name for name in new if (name[0] == VALIDATION_GROUP) is is_validation]
        begun += wanted[: max(0, SERIES_PER_RUN - held)]
    if len(begun) == len(new):
        return begun, None
    return begun, InputRefusal(
        "series_too_many",
        f"The run would have {len(known) + len(new)} metric names; at most {SERIES_PER_RUN} are kept, and as many of validations. "
        "Use few names and many steps.",
    )
