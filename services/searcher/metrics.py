"""Prometheus metrics of the searcher: decisions of searches, and how long they take."""

from prometheus_client import Counter, Histogram

from services.searcher.core.reducers.changes import Decision

_VERDICTS = Counter(
    "muster_search_verdicts", "Answers to validations, by search method", ["method", "verdict"]
)
_TRIALS = Counter(
    "muster_search_trials_created", "Trials that searches created, by search method", ["method"]
)
DECISION_DURATION = Histogram(
    "muster_search_decision_duration_seconds",
    "Time that a search method took for the events of one batch",
    ["method"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0),
)


async def count_decision(method: str, decision: Decision) -> None:
    """Count the verdicts and new trials of a committed decision."""
    for judged in decision.judged:
        _VERDICTS.labels(method, judged.verdict).inc()
    created = sum(decision.trials[number].request_version == 1 for number in decision.requested)
    _TRIALS.labels(method).inc(created)
