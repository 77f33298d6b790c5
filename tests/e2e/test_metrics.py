"""What an operator sees on `/metrics` of each service while experiments run."""

import pytest

from deploy.embedded.state import load_state
from tests.e2e.platform import Platform
from tests.support.metrics import Metrics, scrape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}, "steps": 4, "pace_s": 0.02}
SEARCHER: dict[str, object] = {
    "name": "async_halving", "metric": "loss", "max_trials": 3, "time_metric": "epochs", "max_time": 4, "num_rungs": 2,
    "divisor": 2,
}  # fmt: skip


def read(platform: Platform, service: str) -> Metrics:
    state = load_state(platform.home)
    assert state is not None
    (port,) = (part.ports[-1] for part in state.parts if part.name == service)
    return scrape(port, (platform.home / "secrets" / "side-token").read_text().strip())


def test_a_search_is_seen_in_the_metrics_of_the_services_that_it_passes(platform: Platform) -> None:
    services = ("searcher", "scheduler", "registry", "provisioner")
    before = {service: read(platform, service) for service in services}
    made = platform.completed(platform.create(SEARCHER, hyperparameters=SPACE))
    trials = platform.client.trials.list(made.number).all()
    counts = {
        name: sum(
            one.count
            for trial in trials
            for one in platform.client.trials.metrics(trial.id).series
            if one.name == name
        )
        for name in ("noise", "epochs", "loss")
    }
    after = {service: read(platform, service) for service in services}

    def grown(service: str, name: str, **labels: str) -> float:
        return after[service].total(name, **labels) - before[service].total(name, **labels)

    assert grown("searcher", "muster_search_trials_created_total", method="async_halving") == len(trials)
    assert grown("searcher", "muster_search_verdicts_total", method="async_halving") > 0
    assert grown("searcher", "muster_search_decision_duration_seconds_count", method="async_halving") > 0

    assert grown("scheduler", "muster_scheduler_grant_latency_seconds_count", pool="default") >= len(trials)
    assert 0 <= grown("scheduler", "muster_scheduler_grant_latency_seconds_sum", pool="default") < 600
    assert grown("scheduler", "muster_scheduler_plan_duration_seconds_sum") > 0
    assert grown("scheduler", "muster_scheduler_cycle_duration_seconds_count") > 0

    assert grown("registry", "muster_ingested_points_total") == sum(counts.values()) > 0
    records = counts["noise"] + counts["loss"]
    assert grown("registry", "muster_ingested_records_total", stream="reports") == records
    assert grown("registry", "muster_ingested_records_total", stream="logs") > 0
    assert grown("registry", "muster_operation_seconds_count", operation="reports") > 0

    assert after["provisioner"].total("muster_provisioner_machines_launched_total", provider="local") > 0
    calls = {"provider": "local", "operation": "launch", "error_type": ""}
    assert after["provisioner"].total("muster_provisioner_call_duration_seconds_count", **calls) > 0


def test_queue_and_slots_of_a_pool_are_shown_while_a_trial_runs(platform: Platform) -> None:
    slots = read(platform, "scheduler").total("muster_scheduler_slots", pool="default")
    running = {"max_slots": 1}
    made = platform.create(hyperparameters={"steps": 1, "hang_at": 1}, resources=running)
    try:
        platform.until(lambda: _state(platform, "used") >= 1)
        assert _state(platform, "used") + _state(platform, "free") == slots > 0
    finally:
        platform.client.experiments.kill(made.number)
        platform.wait(made)
    platform.until(lambda: _state(platform, "free") == slots)


def _state(platform: Platform, state: str) -> float:
    return read(platform, "scheduler").total("muster_scheduler_slots", pool="default", state=state)
