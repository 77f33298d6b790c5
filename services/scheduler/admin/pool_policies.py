"""Changes of pool policies and quotas by administrators."""

from dataclasses import dataclass

from services.scheduler.core.reducers import requests
from services.scheduler.core.state.records.pool import NO_QUOTA, Path, Quota
from services.scheduler.cycle import Cycle
from services.scheduler.store.policies import edit_pool, save_quota
from services.scheduler.store.pool_rules import with_rules
from shared.bus import Delivery, Unit
from shared.ids import PoolName
from shared.messages.experiments import OperationRefused
from shared.messages.limits import LimitsChanged
from shared.messages.pools import EditPool


@dataclass(frozen=True, slots=True)
class PolicyCommands:
    """One method per message; all of them are site-wide."""

    cycle: Cycle

    async def on_edit_pool(self, unit: Unit, batch: list[Delivery[EditPool]]) -> None:
        for delivery in batch:
            command = delivery.message
            pool = self.cycle.cluster.pools.get(command.pool)
            if pool is None:
                refused = OperationRefused(
                    operation_id=command.operation_id,
                    code="pool_unknown",
                    message=f"pool {command.pool} does not exist",
                )
                unit.emit(refused, cause=delivery)
                continue
            await edit_pool(unit.connection, with_rules(pool.policy, command.rules))
            self._take_up_rules(unit, command)

    async def on_limits(self, unit: Unit, batch: list[Delivery[LimitsChanged]]) -> None:
        for delivery in batch:
            limits = delivery.message
            path: Path = (limits.tenant, limits.workspace) if limits.workspace else (limits.tenant,)
            quota = Quota(limits.guaranteed, limits.maximum, limits.weight)
            if await save_quota(unit.connection, limits.pool, path, quota, limits.version):
                self._take_up_quota(unit, limits.pool, path, quota)

    def _take_up_rules(self, unit: Unit, command: EditPool) -> None:
        async def take_up() -> None:
            def rule(cycle: Cycle) -> None:
                cycle.cluster.put_pool(with_rules(cycle.cluster.pools[command.pool].policy, command.rules))

            self.cycle.edit(rule)

        unit.after_commit(take_up)

    def _take_up_quota(self, unit: Unit, pool: PoolName, path: Path, quota: Quota) -> None:
        async def take_up() -> None:
            kept = None if quota == NO_QUOTA else quota
            self.cycle.edit(
                lambda cycle: cycle.cluster.apply(requests.on_quota(cycle.cluster, pool, path, kept))
            )

        unit.after_commit(take_up)
