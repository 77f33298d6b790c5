"""Where things come from and what was made of them: of one version in a record, of all in a graph."""

from typing import Literal

from pydantic import Field, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId, VersionId
from shared.messages.base import Query, Record

NodeKind = Literal["dataset", "code", "experiment", "trial", "checkpoint", "version", "consumer"]
EdgeKind = Literal["used", "ran", "searched", "saved", "started", "registered", "consumed"]


class Dataset(Record):
    """Data as a config states it."""

    name: str
    version: str | None = None
    hash: str | None = None


class Lineage(Record):
    """Where a model version comes from, as it was when the version was made."""

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


class GetLineage(Query[Lineage], owner="registry", name="lineage"):
    version_id: VersionId


class LineageNode(Record):
    """One thing of the graph. `name` is what people call it; `facts` are words and numbers to show beside it."""

    id: str
    kind: NodeKind
    name: str
    facts: dict[str, JsonValue] = Field(default_factory=dict)


class LineageEdge(Record):
    """`source` came first and had a part in `target`."""

    source: str
    target: str
    kind: EdgeKind


class LineageGraph(Record):
    """The start, what it came from and what came of it. `truncated`: there is more than an answer holds."""

    start: str
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    truncated: bool = False


class GetLineageGraph(Query[LineageGraph], owner="registry", name="lineage_graph"):
    """`kind` and `id` say where to begin: an entity's id, a code's hash, a dataset's `name`, `name@version` or hash."""

    kind: NodeKind
    id: str
