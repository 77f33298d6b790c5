"""Queries on retention rules. `series.packing`, `logs.packer` and `media.retention` apply them."""

from services.registry.retention import store as retention
from services.registry.retention.store import DAYS
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import Rejected
from shared.messages.retention import GetRetention, RetentionRules, SetRetention

MOST_RULES = 1_000
"""All of them fit into one reply."""


class RetentionQueries:
    """Answers `qry.v1.registry.retention` and `.set_retention`."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetRetention: self.on_get, SetRetention: self.on_set}

    async def on_get(self, ask: RequestContext, query: GetRetention) -> RetentionRules:
        """Return the tenant's rules."""
        async with self._units.tenant(ask.tenant) as unit:
            return RetentionRules(rules=tuple(await retention.load_rules(unit.connection)))

    async def on_set(self, ask: RequestContext, query: SetRetention) -> RetentionRules:
        """Replace a rule."""
        rule = query.rule
        async with self._units.tenant(ask.tenant) as unit:
            if all(getattr(rule, name) is None for name in DAYS):
                await retention.delete_rule(unit.connection, rule.workspace)
            else:
                await retention.save_rule(unit.connection, ask.tenant, rule)
            found = await retention.load_rules(unit.connection)
            if len(found) > MOST_RULES:
                raise Rejected(
                    "rules_too_many",
                    f"a tenant can have at most {MOST_RULES} retention rules",
                    "workspace",
                    "delete a rule, or set one for the whole tenant",
                )
            return RetentionRules(rules=tuple(found))
