"""Projects events of the provisioner on rented machines."""

from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.cluster.tables import instance
from shared.messages.instances import InstanceChanged


async def apply_instance(connection: AsyncConnection, changed: InstanceChanged) -> bool:
    """Apply a newer version. Return False if it is not newer."""
    values = {"version": changed.version, "last_event": changed.as_json()}
    statement = (
        upsert(instance)
        .values(id=changed.instance_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=instance.c.version < changed.version)
    )
    return (await connection.execute(statement)).rowcount > 0
