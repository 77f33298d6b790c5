"""Table of the machine pool operations."""

from services.gateway.cluster.schema import InstanceRecord
from services.gateway.machine_pools.operations.costs import list_cost_shares
from services.gateway.machine_pools.operations.pools import (
    create_machine_pool,
    delete_machine_pool,
    get_machine_pool,
    list_machine_costs,
    list_machine_kinds,
    list_machine_pools,
    terminate_instance,
    update_machine_pool,
)
from services.gateway.machine_pools.schema import (
    CostShares,
    CreateMachinePoolRequest,
    InstanceRequest,
    ListCostSharesRequest,
    ListCostsRequest,
    MachineCosts,
    MachineKinds,
    MachinePool,
    MachinePoolRequest,
    MachinePools,
    UpdateMachinePoolRequest,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, KEY, MANAGE, NATURAL, SAFE
from services.gateway.platform.schema import Empty

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListMachinePools", "GET", "/v1/machine-pools", Empty, MachinePools, CLUSTER, SAFE, list_machine_pools, waits=True),
    Operation("CreateMachinePool", "POST", "/v1/machine-pools", CreateMachinePoolRequest, MachinePool, MANAGE, KEY, create_machine_pool, status=201, waits=True),
    Operation("GetMachinePool", "GET", "/v1/machine-pools/{pool}", MachinePoolRequest, MachinePool, CLUSTER, SAFE, get_machine_pool, waits=True),
    Operation("UpdateMachinePool", "PUT", "/v1/machine-pools/{pool}", UpdateMachinePoolRequest, MachinePool, MANAGE, NATURAL, update_machine_pool, waits=True),
    Operation("DeleteMachinePool", "DELETE", "/v1/machine-pools/{pool}", MachinePoolRequest, MachinePool, MANAGE, NATURAL, delete_machine_pool, waits=True),
    Operation("ListMachineKinds", "GET", "/v1/machine-kinds", Empty, MachineKinds, CLUSTER, SAFE, list_machine_kinds, waits=True),
    Operation("TerminateInstance", "POST", "/v1/instances/{instance}/terminate", InstanceRequest, InstanceRecord, MANAGE, NATURAL, terminate_instance, waits=True),
    Operation("ListMachineCosts", "GET", "/v1/machine-costs", ListCostsRequest, MachineCosts, MANAGE, SAFE, list_machine_costs, waits=True),
    Operation("ListCostShares", "GET", "/v1/cost-shares", ListCostSharesRequest, CostShares, CLUSTER, SAFE, list_cost_shares, waits=True),
)
# fmt: on
