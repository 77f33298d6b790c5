"""The current pools: the one of the settings, and user-defined ones, with the catalogue's offers. Used by `reconcile`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.launches import offer_of
from services.provisioner.core.planning.pool_status import MonthlyBudget
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.pools.catalogue import CatalogueFile
from services.provisioner.pools.definitions import resolve
from services.provisioner.store import PoolRecord
from shared.errors import Rejected
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition

_NO_TIME = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class Pools:
    """Where definitions come from. `default` is the pool of the settings, `providers` are the configured ones."""

    default: PoolSpec
    catalogue: CatalogueFile
    providers: Collection[str]

    def spec_of(self, row: PoolRecord, live: Sequence[Instance]) -> tuple[PoolSpec | None, str | None]:
        """Return what the pool may rent, and the problem with its definition or the catalogue.

        A pool whose definition the catalogue no longer allows rents nothing more and keeps its machines. The first is
        None if the pool has neither, the second if there is no problem.
        """
        problem = None
        if row.definition is None:
            spec: PoolSpec | None = self.default if row.pool == self.default.pool else None
            problem = None if spec else "the settings of the provisioner no longer define this pool"
        else:
            try:
                spec = self.resolve(row.pool, row.definition)
                problem = self.catalogue.trouble
            except Rejected as error:
                spec, problem = None, str(error)
        if spec is None and live:
            spec = _as_it_stands(row.pool, live)
        if spec is not None and row.is_closing:
            spec = replace(spec, minimum=0, maximum=0, reserve_slots=0)
        return spec, problem

    def resolve(self, pool: PoolName, definition: PoolDefinition) -> PoolSpec:
        """Return a pool as it would be resolved.

        Raises:
            Rejected: As for `definitions.resolve`, or a provider is not configured (`no_provider`).
        """
        spec = resolve(pool, definition, self.catalogue.now())
        missing = {offer.kind.provider for offer in spec.offers} - set(self.providers)
        if missing:
            message = f"the provider {', '.join(sorted(missing))} is not configured"
            hint = (
                f"add it to the providers file, or use machine kinds of {', '.join(sorted(self.providers))}"
            )
            raise Rejected("no_provider", message, "kinds", hint)
        return spec

    def lists(self, pool: PoolName) -> bool:
        """Whether the settings define the pool."""
        return pool == self.default.pool


def budgets_of(spec: PoolSpec, spent: Mapping[PoolName, float], now: datetime) -> list[MonthlyBudget]:
    """The pool's budget of this month, if it has one."""
    if spec.budget_per_month is None:
        return []
    return [
        MonthlyBudget(f"the pool's budget for {now:%B}", spec.budget_per_month, spent.get(spec.pool, 0.0))
    ]


def month_of(now: datetime) -> datetime:
    """Return the start of the month, in UTC."""
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _as_it_stands(pool: PoolName, live: Sequence[Instance]) -> PoolSpec:
    offers = tuple(dict.fromkeys(offer_of(one) for one in live))
    return PoolSpec(pool, offers, 0, len(live), idle_timeout=_NO_TIME, join_timeout=_NO_TIME)
