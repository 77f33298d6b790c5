"""Part of `logs`: lines as trainings print them, in the object store and in the registry's tables as its packer leaves them."""

import asyncio
import random
from collections.abc import Iterator
from uuid import UUID

import asyncpg

from services.registry.core.logs.grams import side_by_side
from services.registry.core.logs.lines import Block, Packed, Row, pack
from services.registry.links import log_key
from services.registry.logs.shelf import LogShelf
from services.registry.store import log_filters, log_objects
from services.registry.store.log_objects import Attempt, Due
from shared.driver import Driver
from shared.ids import DEFAULT_TENANT, derived_id, new_id
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


async def fill(around: Platform, shelf: LogShelf, text_bytes: int) -> int:
    """Store so much text, packed and indexed by the packer's code, copies on the shelf; one line of all holds `NEEDLE`."""
    prefix = "MUSTER_S3__"
    settings = {
        key[len(prefix) :].lower(): text for key, text in around.environment.items() if key.startswith(prefix)
    }
    store = S3Objects.of(S3Settings.model_validate(settings), CLOCK)
    connection = await asyncpg.connect(around.database.urls["registry"].system)
    driver, total, number, made = Driver(connection), 0, 0, list[Packed]()
    heads = dict[UUID, int]()
    distinct = ALL_DISTINCT if text_bytes <= 1e9 else SOME_DISTINCT
    while total < text_bytes:
        trial = derived_id(DEFAULT_TENANT, "trial", number % TRIALS)
        experiment = derived_id(DEFAULT_TENANT, "experiment", number % EXPERIMENTS)
        if trial not in heads:
            heads[trial] = 1
            await driver.fetch(
                "INSERT INTO registry.trials (id, tenant, experiment, number) VALUES ($1, $2, $3, $4)",
                trial, DEFAULT_TENANT, experiment, number % TRIALS,
            )  # fmt: skip
            await driver.fetch(
                "INSERT INTO registry.log_heads (tenant, trial) VALUES ($1, $2)", DEFAULT_TENANT, trial
            )
        packed = pack(_blocks(number)) if number < distinct else made[number % distinct]
        if number < distinct:
            made.append(packed if number != NEEDLE_AT else made[-1])
        attempt = Attempt(derived_id(trial, "object", number), Due(DEFAULT_TENANT, trial, heads[trial]))
        await store.put(log_key(DEFAULT_TENANT, trial, attempt.id), packed.content)
        heads[trial] += packed.about.lines
        await driver.fetch("UPDATE registry.log_heads SET next = $2 WHERE trial = $1", trial, heads[trial])
        await log_objects.begin_attempt(driver, attempt, CLOCK.now())
        await log_objects.finish_attempt(driver, attempt, packed)
        await asyncio.to_thread(shelf.keep, attempt.id, packed.content)
        total, number = total + packed.about.text_bytes, number + 1
    await _share_filters(driver)
    await connection.close()
    await store.close()
    return total


async def _share_filters(driver: Driver) -> None:
    """As the packer does."""
    while found := await log_filters.load_alone(driver, TRIALS):
        for one in found:
            filters = await log_filters.load_filters(driver, one.objects)
            await log_filters.save_shared(driver, new_id(CLOCK), one, filters, side_by_side(filters))


def _blocks(number: int) -> list[Block]:
    chance = random.Random(SEED + number)
    rows: list[Row] = [
        (place % 8, "stdout", "warning" if text.startswith("WARNING") else None, place, text)
        for place, text in enumerate(lines_of(chance, OBJECT_BYTES // 94))
    ]
    if number == NEEDLE_AT:
        rows[777] = (0, "stderr", "error", 777, NEEDLE)
    return [Block.of(at, 1, rows[at : at + 5000]) for at in range(0, len(rows), 5000)]
