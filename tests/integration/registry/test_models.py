"""Models and versions, and the collection that leaves them alone."""

from math import inf

import pytest

from muster.errors import Conflict
from shared.ids import CheckpointId, ModelId, VersionId, new_id
from shared.messages.base import Command
from shared.messages.checkpoints import GetCheckpointFiles, ListCheckpoints
from shared.messages.lineage import GetLineage
from shared.messages.models import CreateModel, CreateVersion
from tests.integration.registry.messages import ended, finished_experiment, finished_trial, validation, wanted
from tests.integration.registry.platform import Platform, Registry
from tests.integration.registry.scheduling import CLOCK
from tests.integration.registry.uploads import FILES, save
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def create_model(around: Platform, name: str) -> CreateModel:
    command = CreateModel(operation_id=new_id(CLOCK), model_id=ModelId(new_id(CLOCK)), name=name, by="ada")
    await around.publish("gateway", command)
    return command


async def create_version(around: Platform, model: ModelId, checkpoint: CheckpointId) -> CreateVersion:
    command = CreateVersion(
        operation_id=new_id(CLOCK),
        version_id=VersionId(new_id(CLOCK)),
        model_id=model,
        checkpoint_id=checkpoint,
        comment="the best",
        by="ada",
    )
    await around.publish("gateway", command)
    return command


async def refused(around: Platform, command: Command) -> str:
    async def is_refused() -> bool:
        return bool(await around.emitted("operation.refused", operation_id=command.operation_id))

    await eventually(is_refused)
    return str((await around.emitted("operation.refused", operation_id=command.operation_id))[0]["code"])


async def test_a_version_says_where_it_comes_from(around: Platform) -> None:
    run = around.scheduler.grant(code_hash="a" * 64)
    await around.publish("searcher", wanted(run, code_hash="a" * 64))
    await around.reports(run, 1, [validation(1, 10, loss=0.25, accuracy=0.9, worst=inf)])
    checkpoint = await save(around, run, 1, 10)
    model = await create_model(around, "digits")
    version = await create_version(around, model.model_id, checkpoint)

    async def is_made() -> bool:
        return bool(await around.emitted("version.changed", version_id=version.version_id))

    await eventually(is_made)
    made = (await around.emitted("version.changed", version_id=version.version_id))[0]
    assert (made["model_name"], made["number"], made["files"]) == ("digits", 1, 3)
    changed = await around.emitted("model.changed", model_id=model.model_id)
    assert [(event["version"], event["versions"]) for event in changed] == [(1, 0), (2, 1)]
    lineage = await around.ask(GetLineage(version_id=version.version_id))
    assert (lineage.experiment_id, lineage.trial_id, lineage.run_id) == (run.experiment, run.trial, run.id)
    assert (lineage.step, lineage.code_hash, lineage.metrics) == (
        10,
        "a" * 64,
        {"loss": 0.25, "accuracy": 0.9, "worst": inf},
    )
    assert lineage.hyperparameters == {"lr": 0.1}


async def test_names_differ_in_more_than_case(around: Platform) -> None:
    await create_model(around, "Faces")
    assert await refused(around, await create_model(around, "faces")) == "model_exists"
    assert await refused(around, await create_model(around, "a/b")) == "model_name_characters"
    assert await refused(around, await create_model(around, "12")) == "model_name_digits"


async def test_only_a_saved_checkpoint_becomes_a_version(around: Platform) -> None:
    model = await create_model(around, "not yet")
    nothing = await create_version(around, model.model_id, CheckpointId(new_id(CLOCK)))
    assert await refused(around, nothing) == "not_found"
    foreign = await create_version(around, ModelId(new_id(CLOCK)), CheckpointId(new_id(CLOCK)))
    assert await refused(around, foreign) == "not_found"


async def test_collection_leaves_the_best_the_latest_and_what_is_in_use(
    around: Platform, registry: Registry
) -> None:
    run = around.scheduler.grant()
    await around.publish("searcher", wanted(run))
    losses = [0.5, 0.1, 0.4, 0.3, 0.6, 0.7]
    await around.reports(
        run, 1, [validation(n + 1, (n + 1) * 10, loss=loss) for n, loss in enumerate(losses)]
    )
    own = {"only/in/the/first": b"seventeen bytes, " * 2}
    saved = [await save(around, run, n, n * 10, files=FILES | own if n == 1 else FILES) for n in range(1, 7)]
    model = await create_model(around, "kept by its version")
    version = await create_version(around, model.model_id, saved[2])
    await eventually(lambda: _made(around, version))
    around.scheduler.referenced.add(saved[3])
    successor = around.scheduler.grant(start_checkpoint=saved[4])
    await around.publish("searcher", wanted(successor, start_checkpoint=str(saved[4])))
    await around.publish("scheduler", ended(run, checkpoints=6, ago_s=400))
    await around.publish("searcher", finished_trial(run))
    await around.publish("searcher", finished_experiment(run))

    async def is_collected() -> bool:
        return len(await around.emitted("checkpoint.deleted", experiment_id=run.experiment)) == 1

    await eventually(is_collected)
    deleted = await around.emitted("checkpoint.deleted", experiment_id=run.experiment)
    assert [event["checkpoint_id"] for event in deleted] == [str(saved[0])]
    page = await around.ask(ListCheckpoints(experiment_id=run.experiment))
    assert [one.state for one in page.checkpoints] == ["deleted", "saved", "saved", "saved", "saved", "saved"]
    keys = await around.rows("SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1", saved[0])
    assert len(keys) == 4
    await eventually(lambda: registry.logged("checkpoints were collected", experiment=str(run.experiment)))
    said = registry.logged("checkpoints were collected", experiment=str(run.experiment))
    assert [(one["checkpoints"], one["freed_bytes"]) for one in said] == [(1, 34)], (
        "the others share the rest"
    )
    with pytest.raises(Conflict):
        await around.ask(GetCheckpointFiles(checkpoint_id=saved[0]))
    links = await around.ask(GetCheckpointFiles(checkpoint_id=saved[2]))
    assert len(links.files) == 3
    gone = await create_version(around, model.model_id, saved[0])
    assert await refused(around, gone) == "checkpoint_not_saved"


async def _made(around: Platform, version: CreateVersion) -> bool:
    return bool(await around.emitted("version.changed", version_id=version.version_id))
