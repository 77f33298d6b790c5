"""A process that writes under a lease as long as it holds it; killed, frozen and stopped by the tests."""

import asyncio
import os
import signal
import sys

from sqlalchemy import text

from shared.clock import SystemClock
from shared.db import Database
from shared.errors import Transient
from shared.leases import Lease
from shared.settings import PostgresSettings

LIFE_S = 1.5


async def main(holder: str) -> None:
    settings = PostgresSettings.model_validate(
        {f"{role}_url": os.environ[f"MUSTER_POSTGRES__{role.upper()}_URL"] for role in ("tenant", "system")}
        | {"owner_url": os.environ["MUSTER_POSTGRES__OWNER_URL"]}
    )
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with Database(settings, "scheduler") as database:
        lease = Lease(database, "scheduler", "test", holder, SystemClock(), LIFE_S)

        async def term(epoch: int, ended: asyncio.Event) -> None:
            while not ended.is_set():
                try:
                    async with database.system() as connection:
                        await lease.guard(connection)
                        await connection.execute(
                            text("INSERT INTO scheduler.writes (epoch, holder) VALUES (:epoch, :holder)"),
                            {"epoch": epoch, "holder": holder},
                        )
                except Transient:
                    pass
                await asyncio.sleep(0.03)

        await lease.lead(term, stopping)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
