"""What becomes of models and versions: aliases, stages that people agree to, deletion, and the graph that they stand in."""

from typing import Any

import pytest

from muster.errors import NotFound
from shared.ids import CheckpointId, ModelId, VersionId, new_id
from shared.messages.base import Command
from shared.messages.images import PinImage
from shared.messages.lineage import GetLineage, GetLineageGraph, LineageGraph, NodeKind
from shared.messages.models import (
    CreateModel,
    CreateVersion,
    DecideStage,
    DeleteModel,
    DeleteVersion,
    EditModel,
    EditVersion,
    RecordConsumer,
    SetAlias,
    SetStage,
)
from shared.messages.phases import PhaseRecord, ReportPhases
from tests.integration.registry.messages import submitted, validation, wanted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import save
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
CODE = "c" * 64


class Catalogue:
    """One model, and what is said of it."""

    def __init__(self, around: Platform, name: str) -> None:
        self.around = around
        self.name = name
        self.model = ModelId(new_id(CLOCK))

    async def answer(self, message: type[Command], **fields: Any) -> dict[str, Any]:
        """The event that answers the command, or its refusal."""
        command = message(operation_id=new_id(CLOCK), **{"by": "ada", **fields})
        await self.around.publish("gateway", command)

        async def told() -> list[dict[str, Any]]:
            kinds = ("model.changed", "version.changed", "operation.refused")
            return [
                one
                for event in kinds
                for one in await self.around.emitted(event, operation_id=command.operation_id)
            ]

        async def is_told() -> bool:
            return bool(await told())

        await eventually(is_told)
        return (await told())[-1]

    async def create(self, **fields: Any) -> dict[str, Any]:
        return await self.answer(CreateModel, model_id=self.model, name=self.name, **fields)

    async def register(self, checkpoint: CheckpointId, **fields: Any) -> VersionId:
        version = VersionId(new_id(CLOCK))
        given = {"version_id": version, "model_id": self.model, "checkpoint_id": checkpoint}
        made = await self.answer(CreateVersion, **given, **fields)
        assert made.get("version_id") == str(version), made
        return version


async def trained(around: Platform, *, data: Any = None, start: CheckpointId | None = None) -> Run:
    """A run of a trial whose experiment was submitted with that data."""
    run = around.scheduler.grant(code_hash=CODE, start_checkpoint=start)
    await around.publish("gateway", submitted(run, data=data or {}))
    await around.publish("searcher", wanted(run, code_hash=CODE, start_checkpoint=start))
    await around.reports(run, 1, [validation(1, 10, loss=0.25)])

    async def known() -> bool:
        sql = "SELECT FROM registry.experiment e JOIN registry.trial t ON t.experiment = e.id WHERE t.id = $1 AND t.number = 1"
        return bool(await around.rows(sql, run.trial))

    await eventually(known)
    return run


async def test_aliases_move_and_what_they_name_stays(around: Platform) -> None:
    catalogue = Catalogue(around, "aliased")
    await catalogue.create(workspace="vision", tags=("small",))
    run = await trained(around)
    first = await catalogue.register(await save(around, run, 1, 10))
    await catalogue.register(await save(around, run, 2, 20))
    model = catalogue.model
    named = await catalogue.answer(SetAlias, model_id=model, alias="champion", number=1)
    assert (named["aliases"], named["workspace"], named["tags"]) == ({"champion": 1}, "vision", ["small"])
    refused = await catalogue.answer(DeleteVersion, version_id=first, reason="old")
    assert refused["code"] == "version_in_use" and "champion" in refused["message"]
    moved = await catalogue.answer(SetAlias, model_id=model, alias="champion", number=2)
    assert moved["aliases"] == {"champion": 2} and moved["changed_by"] == "ada"
    gone = await catalogue.answer(DeleteVersion, version_id=first, reason="old")
    assert gone["deleted_reason"] == "old" and gone["deleted_at"]
    assert (await catalogue.answer(SetAlias, model_id=model, alias="x", number=1))["code"] == "not_found"
    assert (await catalogue.answer(SetAlias, model_id=model, alias="1", number=2))[
        "code"
    ] == "alias_characters"
    assert (await catalogue.answer(EditVersion, version_id=first, comment="x"))["code"] == "not_found"
    emptied = await catalogue.answer(SetAlias, model_id=model, alias="champion", number=None)
    assert emptied["aliases"] == {}


async def test_production_takes_the_approvals_that_the_model_asks_for(around: Platform) -> None:
    catalogue = Catalogue(around, "approved")
    await catalogue.create()
    run = await trained(around)
    signature = {"inputs": [{"name": "x", "dtype": "float32", "shape": [None, 64]}]}
    version = await catalogue.register(await save(around, run, 1, 10), signature=signature)
    edited = await catalogue.answer(EditModel, model_id=catalogue.model, approvals={"production": 1})
    assert edited["approvals"] == {"production": 1} and edited["description"] == ""
    early = await catalogue.answer(SetStage, version_id=version, stage="production")
    assert early["code"] == "stage_unreachable"
    staged = await catalogue.answer(SetStage, version_id=version, stage="staging")
    assert (staged["stage"], staged["signature"]) == ("staging", signature)
    asked = await catalogue.answer(SetStage, version_id=version, stage="production", reason="best")
    assert (asked["stage"], asked["pending"]["needed"]) == ("staging", 1)
    own = await catalogue.answer(DecideStage, version_id=version, approve=True)
    assert own["code"] == "own_approval"
    there = await catalogue.answer(DecideStage, version_id=version, approve=True, by="bob")
    assert (there["stage"], there["pending"]) == ("production", None)
    assert [(one["stage"], one["by"]) for one in there["stages"]] == [
        ("staging", "ada"),
        ("production", "ada"),
    ]
    assert there["stages"][-1]["approvals"][0]["by"] == "bob"
    held = await catalogue.answer(DeleteModel, model_id=catalogue.model, reason="x")
    assert held["code"] == "version_in_use" and "version 1" in held["message"]
    stale = await catalogue.answer(EditVersion, version_id=version, comment="x", expected_version=1)
    assert stale["code"] == "version_conflict"
    await catalogue.answer(SetStage, version_id=version, stage="archived")
    gone = await catalogue.answer(DeleteModel, model_id=catalogue.model, reason="a mistake")
    assert gone["deleted_reason"] == "a mistake"
    again = Catalogue(around, "Approved")
    assert (await again.create())["name"] == "Approved", "the name is free again"


async def test_what_cannot_be_announced_changes_nothing(around: Platform) -> None:
    catalogue = Catalogue(around, "Wordy")
    large = {"metadata": {"x": "y" * 70_000}}
    assert (await catalogue.create(**large))["code"] == "metadata_unfit"
    entropy = {"entropy": 2**127}
    made = await catalogue.create(notes="x" * 600_000, metadata=entropy)
    assert made["metadata"] == entropy, "as long as seeds are"
    refused = await catalogue.answer(EditModel, model_id=catalogue.model, description="x" * 500_000)
    assert refused["code"] == "message_too_large"
    version = await catalogue.register(await save(around, await trained(around), 1, 10))
    lengthy = await catalogue.answer(DeleteModel, model_id=catalogue.model, reason="x" * 500_000)
    assert lengthy["code"] == "message_too_large"
    said = await around.emitted("version.changed", version_id=version)
    assert [one["deleted_at"] for one in said] == [None], "nor is a part of it announced"
    edited = await catalogue.answer(EditModel, model_id=catalogue.model, notes="short")
    assert (edited["version"], edited["description"]) == (3, "")


async def test_a_graph_leads_from_the_data_to_who_used_the_model(around: Platform) -> None:
    first = await trained(around, data={"train": {"name": "digits", "version": 3, "sha256": "ab"}})
    start = await save(around, first, 1, 10)
    second = await trained(around, start=start)
    checkpoint = await save(around, second, 1, 20)
    catalogue = Catalogue(around, "traced")
    await catalogue.create()
    version = await catalogue.register(checkpoint)
    use = {"consumer_id": new_id(CLOCK), "version_id": version, "kind": "inference", "reference": "batch-7"}
    use["metadata"] = {"rows": 5, "by": "somebody else"}
    used = await catalogue.answer(RecordConsumer, **use)
    assert (used["version"], used["changed_by"]) == (2, None), "who uses a version has not changed it"

    from_version = await graph(around, "version", str(version))
    assert names(from_version) == {
        "version": ["traced 1"],
        "checkpoint": ["step 10", "step 20"],
        "trial": ["31.1", "31.1"],
        "experiment": ["31 digits search"] * 2,
        "code": [CODE[:12]],
        "dataset": ["digits"],
        "consumer": ["batch-7"],
    }
    assert from_version.nodes[0].id == f"version:{version}" == from_version.start
    written_large = await graph(around, "version", str(version).upper())
    assert (written_large.start, names(written_large)) == (from_version.start, names(from_version))
    [consumer] = [node.facts for node in from_version.nodes if node.kind == "consumer"]
    assert (consumer["kind"], consumer["by"], consumer["rows"]) == ("inference", "ada", 5)
    links = {(one.source, one.target): one.kind for one in from_version.edges}
    assert links["dataset:digits@3#ab", f"experiment:{first.experiment}"] == "used"
    assert links[f"checkpoint:{start}", f"trial:{second.trial}"] == "started"
    from_data = await graph(around, "dataset", "digits@3")
    assert names(from_data)["consumer"] == ["batch-7"] and "code" not in names(from_data)
    assert "version" in names(await graph(around, "code", CODE))
    for kind, foreign in (("version", str(version)), ("code", CODE), ("dataset", "digits")):
        with pytest.raises(NotFound):
            await around.ask(GetLineageGraph(kind=kind, id=foreign), OTHER_TENANT)
    for kind, odd in (("version", "'; DROP"), ("trial", ""), ("dataset", "nothing"), ("code", "0")):
        with pytest.raises(NotFound):
            await around.ask(GetLineageGraph(kind=kind, id=odd))


async def test_the_image_of_the_container_belongs_to_the_lineage(around: Platform) -> None:
    """Of the run that wrote the checkpoint: a later run may have another one."""
    catalogue = Catalogue(around, "contained")
    await catalogue.create()
    first = await trained(around)
    await around.insist(pulled(first, "ghcr.io/team/train@sha256:1"))
    pinned = {"ghcr.io/team/train:1": "sha256:" + "1" * 64}
    await around.insist(PinImage(run_id=first.id, image=(*pinned,)[0], resolved=(*pinned.values(),)[0]))
    checkpoint = await save(around, first, 1, 10)
    await around.insist(pulled(around.scheduler.grant(first), "ghcr.io/team/train@sha256:2"))
    version = await catalogue.register(checkpoint)
    assert (await around.ask(GetLineage(version_id=version))).image == "ghcr.io/team/train@sha256:1"
    nodes = (await graph(around, "version", str(version))).nodes
    images = {node.kind: node.facts.get("image") for node in nodes}
    assert images["checkpoint"] == "ghcr.io/team/train@sha256:1"
    assert images["trial"] == "ghcr.io/team/train@sha256:2"
    assert images["code"] is None
    assert [node.facts["images"] for node in nodes if "images" in node.facts] == [pinned]


def pulled(run: Run, image: str) -> ReportPhases:
    phase = PhaseRecord(kind="pull_image", began_ms=1, ended_ms=2, image=image)
    return ReportPhases(run_id=run.id, phases=(phase,))


async def graph(around: Platform, kind: NodeKind, place: str) -> LineageGraph:
    found = await around.ask(GetLineageGraph(kind=kind, id=place))
    assert isinstance(found, LineageGraph) and not found.truncated
    return found


def names(found: LineageGraph) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for node in found.nodes:
        shown.setdefault(node.kind, []).append(node.name)
    return {kind: sorted(of) for kind, of in shown.items()}
