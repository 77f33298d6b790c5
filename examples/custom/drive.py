"""Runs a search with Optuna's ask-and-tell API: `python drive.py EXPERIMENT`.

Points come from TPE; at epochs 1, 2 and 4 a trial goes on while it is no worse than the median of those seen there. The program keeps
nothing: it reads from the platform what happened before. So it may be killed at any moment, and begun again.
"""

import statistics
import sys

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

from muster.client import connect

SPACE = {
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "batch": CategoricalDistribution([16, 32, 64]),
}
TRIALS, AT_ONCE, EPOCHS = 6, 2, 8


class Study:
    """The state of the search, built from its events alone."""

    def __init__(self):
        self.study = optuna.create_study(direction="maximize")
        self.trials = {}
        self.seen = {}
        self.ended = set()

    def ask(self):
        """Return a new trial's key and point."""
        number = len(self.trials)
        key = f"optuna-{number}"
        # One seed per trial: a restarted program must not repeat its first proposals.
        self.study.sampler = optuna.samplers.TPESampler(seed=number)
        self.trials[key] = self.study.ask(SPACE)
        return key, dict(self.trials[key].params)

    def take(self, event):
        """Record an event; it may precede the start of this program."""
        if event.kind == "created" and event.key not in self.trials:
            self.study.enqueue_trial({name: event.hyperparameters[name] for name in SPACE})
            self.trials[event.key] = self.study.ask(SPACE)
        elif event.kind == "validation":
            self.seen.setdefault(event.at, []).append(event.value)
            self.trials[event.key].report(event.value, int(event.at))
        elif event.kind == "ended":
            self.ended.add(event.key)
            state = {"completed": TrialState.COMPLETE, "stopped": TrialState.PRUNED}.get(
                event.state, TrialState.FAIL
            )
            value = event.value if state is TrialState.COMPLETE else None
            self.study.tell(self.trials[event.key], value, state=state)


def decide(search, study, event):
    """Handle an event: the actions are sent together with its acknowledgement."""
    if event.kind == "validation" and event.value < statistics.median(study.seen[event.at]):
        search.stop(event.key)
    elif event.kind == "validation":
        later = 2 * event.at
        search.go_on(event.key, until=later if later < EPOCHS else None)
    elif event.kind == "ended" and len(study.trials) < TRIALS:
        key, point = study.ask()
        search.create(key, point, until=1)
    elif event.kind == "ended" and len(study.ended) == TRIALS:
        search.shutdown("all trials were made")
    search.progress(len(study.ended) / TRIALS)


def main():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = Study()
    with connect() as client:
        search = client.drive(sys.argv[1])
        for event in search.history():
            study.take(event)
        if not study.trials:
            for _ in range(AT_ONCE):  # A restarted program sends these again, and nothing changes.
                key, point = study.ask()
                search.create(key, point, until=1)
        for event in search.events():
            study.take(event)
            decide(search, study, event)
            print(event.number, event.kind, event.key, event.value, flush=True)


if __name__ == "__main__":
    main()
