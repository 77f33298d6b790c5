"""Rotation of the master key: encrypts the data keys of all secrets with the current one."""

import structlog

from services.gateway.platform.dependencies import MasterKeys
from services.gateway.user_secrets import store
from services.gateway.user_secrets.envelopes import rewrap
from shared.database.engine import Database

_log = structlog.get_logger()


async def rewrap_all(database: Database, keys: MasterKeys) -> None:
    """Encrypt the data keys of all tenants' secrets with the current master key.

    Raises:
        Broken: A secret's master key is not known here.
    """
    count = 0
    while True:
        async with database.system() as connection:
            outdated = await store.load_outdated(connection, keys.current)
            for secret, envelope in outdated:
                await store.save_wrapped(connection, secret, await rewrap(keys, secret, envelope))
        if not outdated:
            break
        count += len(outdated)
    if count:
        _log.info("user secrets were encrypted with the current master key", secrets=count, key=keys.current)
