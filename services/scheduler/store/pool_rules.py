"""Converts a pool's rules between messages, tables and the core."""

from dataclasses import replace
from datetime import timedelta

from services.scheduler.core.state.records.pool import PoolPolicy
from shared.messages.pools import PoolRules


def with_rules(policy: PoolPolicy, rules: PoolRules) -> PoolPolicy:
    """Return the policy with other rules. Fields about its machines are kept."""
    return replace(
        policy,
        order=rules.order,
        preemption=rules.preemption,
        elastic=rules.elastic,
        default_priority=rules.default_priority,
        ageing=None if rules.ageing_s is None else timedelta(seconds=rules.ageing_s),
        half_life=timedelta(seconds=rules.half_life_s),
        min_run=timedelta(seconds=rules.min_run_s),
        max_preemptions=rules.max_preemptions,
        quantum=None if rules.quantum_s is None else timedelta(seconds=rules.quantum_s),
        defragment=rules.defragment,
        topology=rules.topology,
        placement=rules.placement,
        trusted=rules.trusted,
        tenant=rules.tenant,
    )


def rules_of(policy: PoolPolicy) -> PoolRules:
    """The inverse of `with_rules`."""
    return PoolRules(
        order=policy.order,
        preemption=policy.preemption,
        elastic=policy.elastic,
        default_priority=policy.default_priority,
        ageing_s=None if policy.ageing is None else policy.ageing.total_seconds(),
        half_life_s=policy.half_life.total_seconds(),
        min_run_s=policy.min_run.total_seconds(),
        max_preemptions=policy.max_preemptions,
        quantum_s=None if policy.quantum is None else policy.quantum.total_seconds(),
        defragment=policy.defragment,
        topology=policy.topology,
        placement=policy.placement,
        trusted=policy.trusted,
        tenant=policy.tenant,
    )
