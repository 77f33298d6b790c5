"""Lineage: the record of one model version, and the graph of what each entity was made from."""

from typing import Literal

from pydantic import Field, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId, VersionId
from shared.messages.base import Query, Record

NodeKind = Literal["dataset", "code", "experiment", "trial", "checkpoint", "version", "consumer"]
EdgeKind = Literal["used", "ran", "searched", "saved", "started", "registered", "consumed"]


class Dataset(Record):
    """A dataset as a config names it."""

    name: str
    version: str | None = None
    hash: str | None = None


class Lineage(Record):
    """The sources of a model version, recorded when the version was created. `image`: of the run's container, with its digest."""

    experiment_id: ExperimentId
    trial_id: TrialId
    run_id: RunId
    checkpoint_id: CheckpointId
    step: int
    code_hash: str | None
    hyperparameters: dict[str, JsonValue]
    metrics: dict[str, float]
    datasets: tuple[Dataset, ...] = ()
    start_checkpoint: CheckpointId | None = None
    image: str | None = None


class GetLineage(Query[Lineage], owner="registry", name="lineage"):
    """Return what a model version was made from."""

    version_id: VersionId


class LineageNode(Record):
    """An entity in the lineage graph. `name`: display name; `facts`: values to show with it."""

    id: str
    kind: NodeKind
    name: str
    facts: dict[str, JsonValue] = Field(default_factory=dict)


class LineageEdge(Record):
    """`source` was an input of `target`."""

    source: str
    target: str
    kind: EdgeKind


class LineageGraph(Record):
    """The start entity, its ancestors and its descendants. `truncated`: the graph is larger than a reply can hold."""

    start: str
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool = False


class GetLineageGraph(Query[LineageGraph], owner="registry", name="lineage_graph"):
    """Return the lineage graph around an entity.

    `kind` and `id` name the entity to start from: an entity's id, a code hash, or a dataset's `name`, `name@version` or hash.
    """

    kind: NodeKind
    id: str
