"""Driver programs of searches: last contact, last acknowledged event, and which ones stay away."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import DateTime, Double, Interval, cast, func, literal, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.store.tables import driver, experiment, journal
from shared.ids import ExperimentId, TenantId

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver program at its last contact. Without a name, it gave none or was never seen."""

    name: str | None = None
    seen_at: datetime | None = None
    acknowledged: int = 0


@dataclass(frozen=True, slots=True)
class Undriven:
    """A search whose driver program has been away longer than its config allows."""

    tenant: TenantId
    experiment: ExperimentId
    timeout_s: float


async def load_driver(connection: AsyncConnection, experiment_id: ExperimentId) -> Driver:
    """Return the driver program of a search, as far as it is known."""
    here = driver.c
    query = select(here.name, here.seen_at, here.acknowledged).where(here.experiment == experiment_id)
    row = (await connection.execute(query)).first()
    return Driver(row.name, row.seen_at, row.acknowledged) if row else Driver()


async def save_driver(
    connection: AsyncConnection, tenant: TenantId, experiment_id: ExperimentId, seen: Driver
) -> None:
    """Record a contact and the acknowledged event, which never falls."""
    save = insert(driver).values(tenant=tenant, experiment=experiment_id, **asdict(seen))
    new, known = save.excluded, driver.c
    await connection.execute(
        save.on_conflict_do_update(
            index_elements=["experiment"],
            set_={
                "name": func.coalesce(new.name, known.name),
                "seen_at": new.seen_at,
                "acknowledged": func.greatest(known.acknowledged, new.acknowledged),
            },
            where=or_(
                known.seen_at < new.seen_at - _SECOND,
                new.name.is_distinct_from(known.name),
                known.acknowledged < new.acknowledged,
            ),
        )
    )


async def load_undriven(connection: AsyncConnection, now: datetime) -> Sequence[Undriven]:
    """Return active searches without contact and without events for longer than their `driver_timeout`."""
    here = experiment.c
    given = here.config["searcher", "driver_timeout"].astext
    timeout_s = cast(given, Double)
    happened = select(journal.c.at).where(journal.c.experiment == here.id)
    last = happened.order_by(journal.c.position.desc()).limit(1).scalar_subquery()
    last_contact = func.greatest(driver.c.seen_at, here.started_at, last)
    query = (
        select(here.tenant, here.id, timeout_s.label("timeout_s"))
        .outerjoin(driver, driver.c.experiment == here.id)
        .where(here.state == "active", given.is_not(None))
        .where(last_contact < literal(now, DateTime(timezone=True)) - timeout_s * literal(_SECOND, Interval))
    )
    found = await connection.execute(query)
    return [Undriven(TenantId(row.tenant), ExperimentId(row.id), row.timeout_s) for row in found]
