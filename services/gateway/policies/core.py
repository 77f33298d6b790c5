"""Policies on experiment configs: values that they override, and limits. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from muster.config import ExperimentConfig
from muster.errors import Rejected

_HINT = "change the config, or ask for a policy change; `muster policy list` shows the policies"


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """A policy on the experiments of a workspace, or of the whole tenant."""

    workspace: str | None = None
    invariant_config: dict[str, JsonValue] = field(default_factory=dict)
    max_slots: int | None = None
    priority_limit: int | None = None

    def __str__(self) -> str:
        return (
            "the tenant's policy" if self.workspace is None else f"the policy of workspace '{self.workspace}'"
        )


@dataclass(frozen=True, slots=True)
class RequestedQueueing:
    """Requested priority and slots; None if not set."""

    priority: int | None = None
    fewest_slots: int = 0
    max_slots: int | None = None


def check_requested(policies: Sequence[PolicyRules], asked: RequestedQueueing) -> None:
    """Raise Rejected, with the config key and the limit, if a policy does not allow the request."""
    for policy in policies:
        limit = policy.max_slots
        if limit is not None and asked.fewest_slots > limit:
            raise _exceeded(policy, "resources.slots_per_trial", asked.fewest_slots, f"at most {limit}")
        if limit is not None and asked.max_slots is not None and asked.max_slots > limit:
            raise _exceeded(policy, "resources.max_slots", asked.max_slots, f"at most {limit}")
        first = policy.priority_limit
        if first is not None and asked.priority is not None and asked.priority < first:
            raise _exceeded(
                policy, "resources.priority", asked.priority, f"{first} to 99 (1 is the most urgent)"
            )


def apply_policies(policies: Sequence[PolicyRules], config: ExperimentConfig) -> ExperimentConfig:
    """Apply the limits of policies to a config: keys that are not set get the limit as their value.

    Raises:
        Rejected: the config exceeds a limit; `place` is the config key.
    """
    resources = config.resources
    check_requested(
        policies, RequestedQueueing(resources.priority, resources.slot_range[0], resources.max_slots)
    )
    slots = [policy.max_slots for policy in policies if policy.max_slots is not None]
    priorities = [policy.priority_limit for policy in policies if policy.priority_limit is not None]
    given: dict[str, int] = {}
    if slots and resources.max_slots is None:
        given["max_slots"] = min(slots)
    if priorities and resources.priority is None:
        given["priority"] = max(priorities)
    if not given:
        return config
    return config.model_copy(update={"resources": resources.model_copy(update=given)})


def check_kept(policies: Sequence[PolicyRules]) -> None:
    """Raise Rejected if a policy limits slots: an experiment's `max_slots` then cannot be removed."""
    for policy in policies:
        if policy.max_slots is not None:
            raise _exceeded(policy, "resources.max_slots", "none", f"at most {policy.max_slots}")


def _exceeded(policy: PolicyRules, key: str, asked: object, allowed: str) -> Rejected:
    return Rejected("policy_violated", f"{key} would be {asked}, but {policy} allows {allowed}", key, _HINT)
