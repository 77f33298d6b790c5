"""Rotation of the master key: encrypts the data keys of all secrets with the current one."""

import structlog

from services.gateway.platform.dependencies import MasterKeys
from services.gateway.user_secrets import store
from services.gateway.user_secrets.core import SecretId
from services.gateway.user_secrets.envelopes import rewrap
from shared.database.engine import Database
from shared.errors import Broken

_log = structlog.get_logger()


async def rewrap_all(database: Database, keys: MasterKeys) -> None:
    """Encrypt the data keys of all tenants' secrets with the current master key. Secrets whose master key is lost stay as they are."""
    changed = lost = 0
    last: SecretId | None = None
    while True:
        async with database.system() as connection:
            outdated = await store.load_outdated(connection, keys.current, last)
            for secret, envelope in outdated:
                last = secret
                try:
                    await store.save_wrapped(connection, secret, await rewrap(keys, secret, envelope))
                    changed += 1
                except Broken:
                    lost += 1
        if not outdated:
            break
    if changed:
        _log.info(
            "user secrets were encrypted with the current master key", secrets=changed, key=keys.current
        )
    if lost:
        _log.error(
            "user secrets are encrypted with a master key that is not configured: add the key, or set them again",
            secrets=lost,
        )
