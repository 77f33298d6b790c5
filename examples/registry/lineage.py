"""A batch job records its use of a model, then finds all uses of models trained on the same data.
`python examples/registry/lineage.py digits@champion batch-7`."""

import sys

import muster
from muster.client import connect


def main(reference: str, batch: str) -> None:
    """Load the model, record the use, and follow the version's data to every use of it."""
    with connect() as client:
        folder = muster.load(reference, client=client)
        files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        print("the batch reads", files)

        model, _, version = reference.rpartition("@")
        used = client.models.record_use(model, version, "inference", batch, {"rows": 1000})
        for data in used.lineage.datasets:
            place = data.name if data.version is None else f"{data.name}@{data.version}"
            graph = client.models.lineage("dataset", place)
            names = {node.id: node.name for node in graph.nodes}
            for edge in graph.edges:
                if edge.kind == "consumed":
                    print(f"{place} went into {names[edge.source]}, which {names[edge.target]} used")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
