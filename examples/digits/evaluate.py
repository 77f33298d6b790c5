"""Evaluate a trained model on the test set, which neither training nor the search has used.

`python evaluate.py DIRECTORY`, where state.pt lies: a checkpoint or a downloaded model version.
"""

import sys
from pathlib import Path

import torch
from train import Net, accuracy, digits


def evaluate(directory):
    state = torch.load(Path(directory) / "state.pt", map_location="cpu", weights_only=True)
    model = Net(state["hparams"]["width"], state["hparams"]["dropout"])
    model.load_state_dict(state["model"])
    return accuracy(model, *digits("test"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(f"accuracy {evaluate(sys.argv[1]):.4f}")
