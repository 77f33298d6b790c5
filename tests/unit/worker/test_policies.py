"""Log policies as the worker applies them to lines."""

import pytest

from shared.messages.trial_specs import LogPolicy, PolicyMatch
from worker.core.log_policies import Policies

ECC = "GPU 3: uncorrectable ECC error encountered"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"


def given(name: str, pattern: str) -> tuple[LogPolicy, ...]:
    return (LogPolicy(name=name, pattern=pattern, action="cancel_retries"),)


def names(policies: Policies, *lines: str) -> list[str]:
    return [match.name for line in lines for match in policies.met_by(line)]


def test_each_policy_is_met_once() -> None:
    policies = Policies(given("nan", "loss is nan"), ())
    assert names(policies, "fine", "the loss is nan", OOM, "the loss is nan") == ["nan", "CUDA OOM"]
    assert names(Policies((), (PolicyMatch(name="CUDA OOM"),)), OOM) == []


def test_defaults_are_there_until_an_entry_of_their_name_says_otherwise() -> None:
    assert names(Policies((), ()), OOM, ECC) == ["CUDA OOM", "ECC Error"]
    assert names(Policies(given("CUDA OOM", ""), ()), OOM, ECC) == ["ECC Error"]
    (match,) = Policies(given("CUDA OOM", "out of memory"), ()).met_by(OOM)
    assert match.action == "cancel_retries"


@pytest.mark.parametrize(
    "line",
    [
        "  - pattern: uncorrectable ECC error encountered",
        "{'log_policies': [{'pattern': 'uncorrectable ECC error encountered'}]}",
        "looking for .*uncorrectable ECC error encountered.*",
    ],
)
def test_a_config_that_is_printed_meets_nothing(line: str) -> None:
    policies = Policies((), ())
    assert names(policies, line) == []
    assert names(policies, ECC) == ["ECC Error"]
