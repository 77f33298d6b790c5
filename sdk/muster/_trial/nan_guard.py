"""Reaction to a NaN loss (`on_nan` of the config)."""

import sys
from collections.abc import Mapping

from muster.errors import Rejected


class NanGuard:
    """Checks the metrics that rank 0 reports: the searcher's metric, and all metrics with `loss` in their name.

    Attributes:
        have_ended: Whether the training must stop because of a NaN.
    """

    def __init__(self, policy: str, metric: str) -> None:
        """`policy`: continue, stop, fail or restart."""
        self._policy = policy
        self._metric = metric
        self.have_ended = False

    def check(self, step: int, values: Mapping[str, float]) -> None:
        """Act on a NaN loss. Infinity is accepted, because a scaled loss may be infinite for a step.

        Raises:
            Rejected: The config asks for the run to fail.
        """
        if self._policy == "continue":
            return
        for name, value in values.items():
            if value != value and (name == self._metric or "loss" in name):
                self._on_nan(step, name)

    def _on_nan(self, step: int, name: str) -> None:
        if self._policy != "stop":
            raise Rejected(
                "metric_nan", f"{name} is NaN at step {step}, and on_nan is {self._policy}", place=name
            )
        if not self.have_ended:
            text = f"muster: {name} is NaN at step {step}: the trial stops (on_nan: {self._policy})"
            print(text, file=sys.stderr, flush=True)
        self.have_ended = True
