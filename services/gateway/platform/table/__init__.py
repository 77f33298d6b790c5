"""Every operation of the public API, one row each: REST, gRPC, OpenAPI and the proto file come from here."""

from services.gateway.platform.operation import Operation
from services.gateway.platform.table.access import ACCESS
from services.gateway.platform.table.content import CONTENT
from services.gateway.platform.table.machines import MACHINES

OPERATIONS: tuple[Operation, ...] = (*CONTENT, *MACHINES, *ACCESS)  # type: ignore[type-arg]
