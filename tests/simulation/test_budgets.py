"""Searches keep within their budgets whatever they are, by what the scheduler's own runs have held; and say which limit ended them."""

from collections.abc import Mapping

from hypothesis import given, settings, strategies as st

from muster.config import load_config
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.files.schema import Cluster, Policy
from simulator.run_workload import simulate

PRICE = 3.0
CLUSTER = Cluster.model_validate(
    {"machines": [], "provider": {"slots": 4, "maximum": 2, "price_per_hour": 4 * PRICE, "boot_s": 60}}
)
TRIAL_S = 27 * 20
TIMED = {"time_metric": "step", "max_time": 27}
HALVING = {**TIMED, "divisor": 3, "max_trials": 24}
SEARCHERS: Mapping[str, Mapping[str, object]] = {
    "random": {"name": "random", "max_trials": 24},
    "adaptive_asha": {"name": "adaptive_asha", **HALVING},
    "promotion": {"name": "async_halving", "num_rungs": 3, **HALVING, "stop_once": False},
    "median_stopping": {"name": "median_stopping", **TIMED, "max_trials": 24},
    "hyperband": {"name": "hyperband", **TIMED},
    "pbt": {"name": "pbt", **TIMED, "population_size": 5},
}
BUDGETS = st.fixed_dictionaries(
    {"slot_hours": st.floats(0.2, 4.0)},
    optional={
        "cost": st.floats(1.0, 12.0),
        "deadline": st.integers(20, 120).map(lambda minutes: f"{minutes}m"),
        "trial_s": st.sampled_from([TRIAL_S * 0.7, TRIAL_S, TRIAL_S * 1.3]),
    },
) | st.fixed_dictionaries({"deadline": st.integers(20, 120).map(lambda minutes: f"{minutes}m")})
SHORT = st.fixed_dictionaries({"deadline": st.integers(20, 240).map(lambda seconds: f"{seconds}s")})
"""A machine has come after a minute: of the shorter ones nothing ever runs."""
MOST_S = {"s": 1, "m": 60}


@settings(max_examples=15, deadline=None)
@given(
    kind=st.sampled_from(sorted(SEARCHERS)),
    concurrent=st.integers(1, 6),
    slots=st.sampled_from([1, 2]),
    budget=BUDGETS | SHORT,
    step_s=st.sampled_from([20, 150]),
    seed=st.integers(0, 99),
)
def test_no_search_ever_passes_its_budget(
    kind: str, concurrent: int, slots: int, budget: dict[str, object], step_s: int, seed: int
) -> None:
    trial_s = budget.get("trial_s")
    if isinstance(trial_s, int | float) and trial_s * slots / 3600 > float(
        str(budget.get("slot_hours", 1e9))
    ):
        del budget["trial_s"]
    document = {
        "entrypoint": "python3 train.py",
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
        "searcher": {
            "metric": "loss", "max_concurrent_trials": concurrent, **SEARCHERS[kind],
        },
        "resources": {"slots_per_trial": slots},
        "budget": budget,
    }  # fmt: skip
    learning = Learning(steps=27, step_ms=step_s * 1000, spread=0.3, noise=0.02)
    asked = Submission("search", load_config(document), learning, seed=seed, launch_ms=5_000)
    found = simulate(Policy(), CLUSTER, [], seed, submissions=[asked], is_checked=True).result.experiments[0]
    assert found.state in ("completed", "cancelled")
    assert found.took_s is not None
    limits = asked.config.budget
    assert limits is not None
    if limits.slot_hours is not None:
        assert found.slot_hours <= limits.slot_hours
    if limits.cost is not None:
        assert found.slot_hours * PRICE <= limits.cost
    if limits.deadline is not None:
        assert found.took_s <= MOST_S[limits.deadline[-1]] * int(limits.deadline[:-1])
    is_cut_short = found.trials < int(str(SEARCHERS[kind].get("max_trials", 0))) or found.state == "cancelled"
    assert not is_cut_short or str(found.reason).startswith("budget.")
