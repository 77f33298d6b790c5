"""Part of `logs`: lines as trainings print them, in the object store and in the registry's tables as its packer leaves them."""

import random
from collections.abc import Iterator
from uuid import UUID

from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from services.registry.logs.core.line_columns import Block, Packed, Row, pack
from services.registry.logs.store import objects as log_objects
from services.registry.logs.store.objects import PackableTrial, PackAttempt
from services.registry.storage.links import log_key
from services.registry.store.report_tables import log_positions
from services.registry.store.tables import trials
from shared.database.engine import driver_url
from shared.ids import DEFAULT_TENANT, derived_id
from shared.objects.s3 import S3Objects
from shared.settings import S3Settings
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK

SEED, TRIALS, EXPERIMENTS = 7, 20, 4
OBJECT_BYTES = 8 * 1024 * 1024
ALL_DISTINCT, SOME_DISTINCT = 134, 34
"""So many objects are made; of more than a gigabyte fewer, which come again and again."""
NEEDLE, NEEDLE_AT = "CUDA error: device-side assert triggered at kernel 77", 3


def lines_of(chance: random.Random, count: int) -> Iterator[str]:
    """Lines as trainings print them."""
    for step in range(count):
        kind = chance.random()
        if kind < 0.6:
            yield (
                f"2026-01-01 12:{step // 60 % 60:02d}:{step % 60:02d},{step % 1000:03d} INFO train: epoch {step // 1000}"
                f" step {step} loss={chance.random():.6f} lr={chance.random() / 100:.3e} grad_norm={chance.random() * 10:.4f}"
            )
        elif kind < 0.8:
            yield f"[rank{step % 8}] batch {step} took {kind * 100:.2f} ms, data {chance.random():.3f}"
        elif kind < 0.9:
            yield (
                f"DEBUG dataloader worker {step % 16} fetched shard-{chance.randrange(10_000):05d}.tar"
                f" in {kind * 20:.2f} ms id={chance.getrandbits(64):016x}"
            )
        elif kind < 0.97:
            yield f'  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line {step % 2000}, in _call_impl'
        else:
            yield f"WARNING: NaN or Inf found in input tensor {step % 100}."


async def fill(around: Platform, text_bytes: int) -> int:
    """Store so much text, packed and indexed by the packer's code; one line of all holds `NEEDLE`."""
    prefix = "MUSTER_S3__"
    settings = {
        key[len(prefix) :].lower(): text for key, text in around.environment.items() if key.startswith(prefix)
    }
    store = S3Objects.of(S3Settings.model_validate(settings), CLOCK)
    url = driver_url(around.database.urls["registry"].system)
    async with create_async_engine(url, isolation_level="AUTOCOMMIT").connect() as connection:
        total = await _fill(connection, store, text_bytes)
    await store.close()
    return total


async def _fill(connection: AsyncConnection, store: S3Objects, text_bytes: int) -> int:
    total, number, made = 0, 0, list[Packed]()
    heads = dict[UUID, int]()
    distinct = ALL_DISTINCT if text_bytes <= 1e9 else SOME_DISTINCT
    while total < text_bytes:
        trial = derived_id(DEFAULT_TENANT, "trial", number % TRIALS)
        experiment = derived_id(DEFAULT_TENANT, "experiment", number % EXPERIMENTS)
        if trial not in heads:
            heads[trial] = 1
            known = {"tenant": DEFAULT_TENANT, "experiment": experiment, "number": number % TRIALS}
            await connection.execute(insert(trials).values(id=trial, **known))
            await connection.execute(insert(log_positions).values(tenant=DEFAULT_TENANT, trial=trial))
        packed = pack(_blocks(number)) if number < distinct else made[number % distinct]
        if number < distinct:
            made.append(packed if number != NEEDLE_AT else made[-1])
        attempt = PackAttempt(
            derived_id(trial, "object", number), PackableTrial(DEFAULT_TENANT, trial, heads[trial])
        )
        await store.put(log_key(DEFAULT_TENANT, trial, attempt.id), packed.content)
        heads[trial] += packed.about.lines
        head = update(log_positions).where(log_positions.c.trial == trial)
        await connection.execute(head.values(next=heads[trial]))
        await log_objects.begin_attempt(connection, attempt, CLOCK.now())
        await log_objects.finish_attempt(connection, attempt, packed)
        total, number = total + packed.about.text_bytes, number + 1
    return total


def _blocks(number: int) -> list[Block]:
    chance = random.Random(SEED + number)
    rows: list[Row] = [
        (place % 8, "stdout", "warning" if text.startswith("WARNING") else None, place, text)
        for place, text in enumerate(lines_of(chance, OBJECT_BYTES // 94))
    ]
    if number == NEEDLE_AT:
        rows[777] = (0, "stderr", "error", 777, NEEDLE)
    return [Block.of(at, 1, rows[at : at + 5000]) for at in range(0, len(rows), 5000)]
