"""The invariant of time slices."""

from services.scheduler.core.planning.plan import SchedulingPlan
from services.scheduler.core.state.cluster import Cluster
from simulator.observers.invariant import Invariant


class WholeTimeSlices(Invariant):
    """A run yields only to another experiment, only after it has had its slots for a quantum and for `min_run`
    and has saved a checkpoint, and never if its trial has ignored the signal before."""

    rule = "no time slice cut short"

    def on_cycle(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        for signal in planned.signals:
            run, policy = cluster.runs[signal.run], cluster.pools[cluster.runs[signal.run].pool].policy
            if signal.because != "time_slice" or signal.for_trial is None:
                continue
            if (
                policy.quantum is None
                or cluster.trials[signal.for_trial].request.experiment == run.experiment
            ):
                raise self.broken(f"run {run.id} is asked to yield to trial {signal.for_trial}")
            if not run.progress.checkpoints or cluster.trials[run.trial].ignores_signals:
                raise self.broken(
                    f"run {run.id} has saved nothing, or ignores the signal, and is asked to yield"
                )
            held_ms = cluster.now_ms - round(run.granted_at.timestamp() * 1000)
            if held_ms < max(policy.quantum, policy.min_run).total_seconds() * 1000:
                raise self.broken(
                    f"run {run.id} has had its slots for {held_ms / 1000:.0f} s and is asked to yield"
                )
