"""Machines, pools and who may have how much of them, the queue, what was used, and what is told of it all; and what takes longer than a request waits."""

from services.gateway.budgets import operations as budget_handlers, schema as budgets
from services.gateway.cluster import schema as cluster
from services.gateway.cluster.operations import drain as draining_handlers, read as cluster_handlers
from services.gateway.events import operations as event_handlers, schema as events
from services.gateway.health import operations as health_handlers, schema as health
from services.gateway.long_operations import operations as long_handlers, schema as operations
from services.gateway.machine_pools import schema as machines
from services.gateway.machine_pools.operations import costs as cost_handlers, pools as machine_handlers
from services.gateway.platform import schema as base
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_terms import (
    CLUSTER,
    KEY,
    MANAGE,
    NATURAL,
    POLICY,
    READ_EXPERIMENT,
    SAFE,
)
from services.gateway.pools import schema as pools
from services.gateway.pools.operations import limits as limit_handlers, pools as pool_handlers
from services.gateway.quotas import operations as quota_handlers, schema as quotas
from services.gateway.reservations import operations as reservation_handlers, schema as reservations
from services.gateway.usage import operations as usage_handlers, schema as usage

# fmt: off
MACHINES: tuple[Operation, ...] = (  # type: ignore[type-arg]
    # machines and the queue
    Operation("ListWorkers", "GET", "/v1/workers", cluster.ListWorkersRequest, cluster.WorkerPage, CLUSTER, SAFE, cluster_handlers.list_workers, waits=True),
    Operation("GetWorker", "GET", "/v1/workers/{worker}", cluster.WorkerRequest, cluster.Worker, CLUSTER, SAFE, cluster_handlers.get_worker, waits=True),
    Operation("DrainWorker", "POST", "/v1/workers/{worker}/drain", cluster.DrainWorkerRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.drain_worker, long=True),
    Operation("UndrainWorker", "POST", "/v1/workers/{worker}/undrain", cluster.WorkerRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.undrain_worker, long=True),
    Operation("DrainWorkers", "POST", "/v1/workers/drain", cluster.DrainWorkersRequest, cluster.WorkerPage, MANAGE, NATURAL, draining_handlers.drain_workers, long=True),
    Operation("UndrainWorkers", "POST", "/v1/workers/undrain", cluster.WorkersRequest, cluster.WorkerPage, MANAGE, NATURAL, draining_handlers.undrain_workers, long=True),
    Operation("DisableSlot", "POST", "/v1/workers/{worker}/slots/disable", cluster.SlotRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.disable_slot, long=True),
    Operation("EnableSlot", "POST", "/v1/workers/{worker}/slots/enable", cluster.SlotRequest, cluster.Worker, MANAGE, NATURAL, draining_handlers.enable_slot, long=True),
    Operation("ListPools", "GET", "/v1/pools", pools.ListPoolsRequest, pools.PoolPage, CLUSTER, SAFE, pool_handlers.list_pools, waits=True),
    Operation("GetPool", "GET", "/v1/pools/{pool}", pools.PoolRequest, pools.Pool, CLUSTER, SAFE, pool_handlers.get_pool, waits=True),
    Operation("EditPool", "PATCH", "/v1/pools/{pool}", pools.EditPoolRequest, pools.Pool, MANAGE, NATURAL, pool_handlers.edit_pool, long=True, conditional=True),
    Operation("ListLimits", "GET", "/v1/limits", pools.ListLimitsRequest, pools.LimitPage, CLUSTER, SAFE, limit_handlers.list_limits),
    Operation("SetLimit", "PUT", "/v1/limits", pools.SetLimitRequest, pools.Limit, MANAGE, NATURAL, limit_handlers.set_limit, waits=True),
    Operation("SetWorkspaceLimit", "PUT", "/v1/limits/workspace", pools.SetWorkspaceLimitRequest, pools.Limit, POLICY, NATURAL, limit_handlers.set_workspace_limit, waits=True),
    Operation("ListQuotas", "GET", "/v1/quotas", base.Empty, quotas.WorkQuotas, CLUSTER, SAFE, quota_handlers.list_quotas),
    Operation("SetTenantQuota", "PUT", "/v1/quotas/tenant", quotas.SetTenantQuotaRequest, quotas.WorkQuota, MANAGE, NATURAL, quota_handlers.set_tenant_quota),
    Operation("SetWorkspaceQuota", "PUT", "/v1/quotas/workspace", quotas.SetWorkspaceQuotaRequest, quotas.WorkQuota, POLICY, NATURAL, quota_handlers.set_workspace_quota),
    Operation("ListBudgets", "GET", "/v1/budgets", base.Empty, budgets.MonthlyBudgets, CLUSTER, SAFE, budget_handlers.list_budgets, waits=True),
    Operation("SetTenantBudget", "PUT", "/v1/budgets/tenant", budgets.SetTenantBudgetRequest, budgets.MonthlyBudget, MANAGE, NATURAL, budget_handlers.set_tenant_budget, waits=True),
    Operation("SetWorkspaceBudget", "PUT", "/v1/budgets/workspace", budgets.SetWorkspaceBudgetRequest, budgets.MonthlyBudget, POLICY, NATURAL, budget_handlers.set_workspace_budget, waits=True),
    Operation("CreateReservation", "POST", "/v1/reservations", reservations.CreateReservationRequest, reservations.Reservation, MANAGE, KEY, reservation_handlers.create_reservation, status=201, waits=True),
    Operation("ListReservations", "GET", "/v1/reservations", reservations.ListReservationsRequest, reservations.ReservationPage, CLUSTER, SAFE, reservation_handlers.list_reservations, waits=True),
    Operation("DeleteReservation", "DELETE", "/v1/reservations/{reservation}", reservations.ReservationRequest, reservations.Reservation, MANAGE, NATURAL, reservation_handlers.delete_reservation, waits=True),
    Operation("ListMachinePools", "GET", "/v1/machine-pools", base.Empty, machines.MachinePools, CLUSTER, SAFE, machine_handlers.list_machine_pools, waits=True),
    Operation("CreateMachinePool", "POST", "/v1/machine-pools", machines.CreateMachinePoolRequest, machines.MachinePool, MANAGE, KEY, machine_handlers.create_machine_pool, status=201, waits=True),
    Operation("GetMachinePool", "GET", "/v1/machine-pools/{pool}", machines.MachinePoolRequest, machines.MachinePool, CLUSTER, SAFE, machine_handlers.get_machine_pool, waits=True),
    Operation("UpdateMachinePool", "PUT", "/v1/machine-pools/{pool}", machines.UpdateMachinePoolRequest, machines.MachinePool, MANAGE, NATURAL, machine_handlers.update_machine_pool, waits=True),
    Operation("DeleteMachinePool", "DELETE", "/v1/machine-pools/{pool}", machines.MachinePoolRequest, machines.MachinePool, MANAGE, NATURAL, machine_handlers.delete_machine_pool, waits=True),
    Operation("ListMachineKinds", "GET", "/v1/machine-kinds", base.Empty, machines.MachineKinds, CLUSTER, SAFE, machine_handlers.list_machine_kinds, waits=True),
    Operation("TerminateInstance", "POST", "/v1/instances/{instance}/terminate", machines.InstanceRequest, cluster.InstanceRecord, MANAGE, NATURAL, machine_handlers.terminate_instance, waits=True),
    Operation("ListMachineCosts", "GET", "/v1/machine-costs", machines.ListCostsRequest, machines.MachineCosts, MANAGE, SAFE, machine_handlers.list_machine_costs, waits=True),
    Operation("ListCostShares", "GET", "/v1/cost-shares", machines.ListCostSharesRequest, machines.CostShares, CLUSTER, SAFE, cost_handlers.list_cost_shares, waits=True),
    Operation("ListInstances", "GET", "/v1/instances", cluster.ListInstancesRequest, cluster.InstancePage, CLUSTER, SAFE, cluster_handlers.list_instances),
    Operation("ListQueue", "GET", "/v1/queue", cluster.ListQueueRequest, cluster.QueuePage, READ_EXPERIMENT, SAFE, cluster_handlers.list_queue, waits=True),
    Operation("GetUsage", "GET", "/v1/usage", usage.UsageRequest, usage.Usage, CLUSTER, SAFE, usage_handlers.get_usage, csv=usage_handlers.usage_csv, waits=True),
    Operation("WatchEvents", "GET", "/v1/events", events.WatchEventsRequest, events.Event, READ_EXPERIMENT, SAFE, event_handlers.watch_events, stream="server"),
    Operation("WatchMachineEvents", "GET", "/v1/machine-events", events.WatchMachineEventsRequest, events.MachineEvent, CLUSTER, SAFE, event_handlers.watch_machine_events, stream="server"),
    Operation("GetPlatformHealth", "GET", "/v1/health/platform", base.Empty, health.PlatformHealth, Permission.SELF, SAFE, health_handlers.get_platform_health),
    # what takes longer than a request waits
    Operation("ListOperations", "GET", "/v1/operations", operations.ListOperationsRequest, operations.LongOperationPage, Permission.SELF, SAFE, long_handlers.list_operations, waits=True),
    Operation("GetOperation", "GET", "/v1/operations/{operation}", operations.OperationRequest, operations.LongOperation, Permission.SELF, SAFE, long_handlers.get_operation, waits=True),
)
# fmt: on
