"""Every operation of the public API, one row each: REST, gRPC, OpenAPI and the proto file come from here."""

from services.gateway.operations.operation import Operation
from services.gateway.operations.table.access import ACCESS
from services.gateway.operations.table.content import CONTENT
from services.gateway.operations.table.machines import MACHINES

OPERATIONS: tuple[Operation, ...] = (*CONTENT, *MACHINES, *ACCESS)  # type: ignore[type-arg]
