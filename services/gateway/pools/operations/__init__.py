"""Table of the operations on pools and limits."""

from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, MANAGE, NATURAL, POLICY, SAFE
from services.gateway.pools.operations.limits import list_limits, set_limit, set_workspace_limit
from services.gateway.pools.operations.pools import POOL_RULES_OUTCOME, edit_pool, get_pool, list_pools
from services.gateway.pools.schema import (
    EditPoolRequest,
    Limit,
    LimitPage,
    ListLimitsRequest,
    ListPoolsRequest,
    Pool,
    PoolPage,
    PoolRequest,
    SetLimitRequest,
    SetWorkspaceLimitRequest,
)

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListPools", "GET", "/v1/pools", ListPoolsRequest, PoolPage, CLUSTER, SAFE, list_pools, waits=True),
    Operation("GetPool", "GET", "/v1/pools/{pool}", PoolRequest, Pool, CLUSTER, SAFE, get_pool, waits=True),
    Operation("EditPool", "PATCH", "/v1/pools/{pool}", EditPoolRequest, Pool, MANAGE, NATURAL, edit_pool, outcome=POOL_RULES_OUTCOME, conditional=True),
    Operation("ListLimits", "GET", "/v1/limits", ListLimitsRequest, LimitPage, CLUSTER, SAFE, list_limits),
    Operation("SetLimit", "PUT", "/v1/limits", SetLimitRequest, Limit, MANAGE, NATURAL, set_limit, waits=True),
    Operation("SetWorkspaceLimit", "PUT", "/v1/limits/workspace", SetWorkspaceLimitRequest, Limit, POLICY, NATURAL, set_workspace_limit, waits=True),
)
# fmt: on
