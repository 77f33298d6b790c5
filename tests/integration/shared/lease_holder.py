"""A process that writes under a lease as long as it holds it; killed, frozen and stopped by the tests.

SIGUSR1 freezes it where that does most harm: in a transaction.
"""

import asyncio
import os
import signal
import sys

from sqlalchemy import text

from shared.clock import SystemClock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.errors import Transient
from shared.settings import PostgresSettings

LIFE_S = 3.0


async def main(holder: str, life_s: float) -> None:
    settings = PostgresSettings.model_validate(
        {f"{role}_url": os.environ[f"MUSTER_POSTGRES__{role.upper()}_URL"] for role in ("tenant", "system")}
    )
    stopping = asyncio.Event()
    freezing = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, freezing.set)
    async with Database(settings, "scheduler") as database:
        lease = Lease(database, "scheduler", "test", holder, SystemClock(), life_s)

        async def term(epoch: int, ended: asyncio.Event) -> None:
            while not ended.is_set():
                try:
                    async with database.system() as connection:
                        await lease.guard(connection)
                        await connection.execute(
                            text("INSERT INTO scheduler.writes (epoch, holder) VALUES (:epoch, :holder)"),
                            {"epoch": epoch, "holder": holder},
                        )
                        if freezing.is_set():
                            freezing.clear()
                            os.kill(os.getpid(), signal.SIGSTOP)
                except Transient:
                    pass
                await asyncio.sleep(0.03)

        await lease.lead(term, stopping)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
