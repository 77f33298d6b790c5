"""A pool of rented machines in the provisioner's world: a catalogue, a provider on AWS as moto and the proxy play it, and a definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson
from pydantic import SecretStr

from services.provisioner import store
from services.provisioner.pools.catalogue import CatalogueFile
from services.provisioner.pools.definitions import resolve
from shared.database.engine import Database
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition, Spending
from shared.settings import PostgresSettings
from tests.integration.provisioner.neighbours import Around
from tests.support.ec2_proxy import FaultyEc2

RENTED = PoolName("rented")
REGION = "us-east-1"
KEY = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret"}
IMAGE = "ami-12c6146b"


@dataclass(frozen=True)
class Rented:
    """The files of a provisioner that rents from `ec2`; `prices`: of each (kind, zone), on demand."""

    world: Around
    ec2: FaultyEc2
    folder: Path
    prices: Mapping[tuple[str, str], float]

    def settings(self, **of_aws: str) -> dict[str, str]:
        """Written, and named as the provisioner's settings name them. The pool of this machine is empty. `of_aws`: more of its provider."""
        kinds = {kind: {"name": kind, "provider": "aws", "slots": 1, "prices": []} for kind, _ in self.prices}
        for (kind, zone), price in self.prices.items():
            kinds[kind]["prices"].append({"zone": zone, "on_demand": price})  # type: ignore[attr-defined]
        aws = {"type": "aws", "region": REGION, "endpoint": self.ec2.url, "image": IMAGE, **of_aws}
        providers = {"site": "renting", "providers": {"aws": aws}}
        self.catalogue.write_bytes(orjson.dumps({"kinds": list(kinds.values())}))
        (self.folder / "providers.yaml").write_bytes(orjson.dumps(providers))
        self.world.environment.update(KEY)
        return {
            "catalogue": str(self.catalogue),
            "providers": str(self.folder / "providers.yaml"),
            "minimum": "0",
            "maximum": "0",
        }

    @property
    def catalogue(self) -> Path:
        return self.folder / "catalogue.yaml"

    async def define(self, **facts: int | float) -> None:
        """Makes the pool, of all kinds of the catalogue; after `settings`, and once the provisioner has made its schema."""
        definition = PoolDefinition(
            kinds=tuple(dict.fromkeys(kind for kind, _ in self.prices)),
            **{"maximum": 1000, **facts},
        )
        spec = resolve(RENTED, definition, CatalogueFile(self.catalogue).now())
        async with Database(self._logins, "provisioner") as database, database.system() as connection:
            await store.save_pool(connection, spec, definition)

    async def give_up(self) -> None:
        """Closes the pool, and has the provisioner look."""
        async with Database(self._logins, "provisioner") as database, database.system() as connection:
            await store.close_pool(connection, RENTED)
        await self.need(0)

    async def spending(self, since: datetime, until: datetime) -> list[Spending]:
        """What the ledger says of the pool between two moments."""
        async with Database(self._logins, "provisioner") as database, database.system() as connection:
            found = await store.load_spending(connection, since, until)
        return [one for one in found if one.pool == RENTED]

    @property
    def _logins(self) -> PostgresSettings:
        urls = self.world.database.urls["provisioner"]
        return PostgresSettings(
            tenant_url=SecretStr(urls.tenant),
            system_url=SecretStr(urls.system),
        )

    async def need(self, slots: int) -> None:
        """So many slots are waited for."""
        await self.world.demand(waiting=slots, pool=RENTED)

    async def states(self) -> dict[str, int]:
        """How many machines of the pool are in each state, by the ledger."""
        rows = await self.world.rows(
            f"SELECT state, count(*) FROM provisioner.instance WHERE pool = '{RENTED}' GROUP BY state"
        )
        return {row["state"]: row["count"] for row in rows}
