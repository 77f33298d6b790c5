"""Renders the scheduler's view of a pool as an API resource."""

from services.gateway.pools import schema as pools
from shared.messages.pools import PoolRules, PoolView


def render_pool(view: PoolView) -> pools.Pool:
    return pools.Pool(
        name=view.pool,
        slot_kind=view.slot_kind,
        workers=view.workers,
        slots=view.slots,
        used_slots=view.used_slots,
        waiting_slots=view.waiting_slots,
        preemption=view.preemption,
        exclusive=view.exclusive,
        max_slots=view.max_slots,
        rules=_render_rules(view.rules),
    )


def _render_rules(rules: PoolRules) -> pools.PoolRules:
    rendered = pools.PoolRules.model_validate(rules.model_dump())
    return rendered if rules.trusted else rendered.model_copy(update={"tenant": None})
