"""An experiment's checkpoints: list, fetch parts, label, verify, and preview a deletion rule.

`python examples/registry/checkpoints.py 31` fetches the best one into ./best-31.
"""

import sys
from pathlib import Path

from muster.client import connect


def main(experiment: str, folder: Path) -> None:
    """Print an experiment's checkpoints, fetch the best, and preview a stricter deletion rule."""
    with connect() as client:
        for one in client.checkpoints.of_experiment(experiment):
            print("step", one.step, one.state, f"{one.size_bytes} bytes", one.metrics)
        best = client.checkpoints.best_of(client.experiments.get(experiment))
        files = [file.path for file in client.checkpoints.get(best.id).manifest]
        # Files are complete and verified, or absent; `only` takes patterns such as "model/*". An interrupted download resumes.
        client.checkpoints.download(best.id, folder, only=files[:1])
        client.checkpoints.edit(best.id, {"fetched": {"to": str(folder)}})
        asked = client.checkpoints.verify(best.id)
        print("best:", best.id, "fetched:", files[0], "to be verified:", asked.files, "files")
        rule = client.checkpoints.collect(
            experiment, dry_run=True, save_experiment_best=1, save_trial_best=0, save_trial_latest=0
        )
        print("with the best alone:", rule.count, "would go, freeing", rule.freed_bytes, "bytes")
        print("stored by the tenant:", client.checkpoints.storage().used_bytes, "bytes")


if __name__ == "__main__":
    main(sys.argv[1], Path(f"best-{sys.argv[1]}"))
