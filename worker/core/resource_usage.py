"""Resource usage of a run on this machine, and the time breakdown of its steps. Each metric covers the time between two samples. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.wire.timing import Timing

OFTEN_S = 1.0
OFTEN_FOR_S = 60.0
SELDOM_S = 10.0
"""Sampling interval after the first minute. Counters stay exact; a day of training yields thousands of points, not a hundred thousand."""
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Usage:
    """Current and cumulative resource usage of the processes of a run.

    Attributes:
        at_s: When (monotonic seconds).
        processor_s: CPU time of the living processes and of the children they have reaped.
        memory_bytes: Resident memory; shared pages count once per process.
        read_bytes, written_bytes: From and to disks.
        received_bytes, sent_bytes: Traffic of their network namespace: the machine's, if they have none of their own.
    """

    at_s: float
    processes: int
    processor_s: float
    memory_bytes: int
    read_bytes: int
    written_bytes: int
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Utilisation of a GPU (0 to 1) and its allocated memory, by all processes."""

    busy: float
    memory_bytes: int


def interval_s(age_s: float) -> float:
    """Return the time until the next sample, by how long the run has been profiled."""
    return OFTEN_S if age_s < OFTEN_FOR_S else SELDOM_S


def system_values(before: Usage, now: Usage, gpus: Mapping[int, GpuUse]) -> dict[str, float]:
    """Return the metrics of the group `system`. A counter that went down because a process ended counts as no usage; `gpus` by slot."""
    passed_s = max(now.at_s - before.at_s, 1e-9)

    def rate(earlier: float, later: float) -> float:
        return max(0.0, later - earlier) / passed_s

    values = {
        "cpu_cores": rate(before.processor_s, now.processor_s),
        "memory_bytes": float(now.memory_bytes),
        "processes": float(now.processes),
        "disk_read_bytes_per_s": rate(before.read_bytes, now.read_bytes),
        "disk_written_bytes_per_s": rate(before.written_bytes, now.written_bytes),
        "network_received_bytes_per_s": rate(before.received_bytes, now.received_bytes),
        "network_sent_bytes_per_s": rate(before.sent_bytes, now.sent_bytes),
    }
    for slot, gpu in gpus.items():
        values[f"gpu{slot}_busy"] = gpu.busy
        values[f"gpu{slot}_memory_bytes"] = float(gpu.memory_bytes)
    return values


def timing_values(before: Sequence[Timing], now: Sequence[Timing]) -> dict[str, float]:
    """Return the metrics of the group `timing`: the duration of a step and its breakdown, averaged over local ranks; empty if no rank made a step.

    The breakdown of a rank is relative to its own time; the duration of a step comes from the rank that counts the most steps.
    """
    spans = [
        _Span(one, other)
        for one, other in zip(before, now, strict=False)
        if one.pid == other.pid and 0 < one.at_ns < other.at_ns
    ]
    step_s = min((span.passed_s / span.steps for span in spans if span.steps > 0), default=None)
    if step_s is None:
        return {}
    data, communication, busy = (
        sum(span.part(name) for span in spans) / len(spans)
        for name in ("data_ns", "communication_ns", "busy_ns")
    )
    values = {
        "step_s": step_s,
        "data_s": step_s * data,
        "communication_s": step_s * communication,
        "busy_s": step_s * busy,
        "compute_s": step_s * max(0.0, 1 - data - communication - busy),
        "steps_per_s": 1 / step_s,
    }
    if samples_per_s := sum(span.samples_per_s for span in spans):
        values["samples_per_s"] = samples_per_s
    return values


def named_for(index: int, values: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics under the names of a gang member: those of the first member have plain names."""
    return dict(values) if index == 0 else {f"{name}.node{index}": value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class _Span:
    """The activity of one rank between two records."""

    before: Timing
    now: Timing

    @property
    def passed_s(self) -> float:
        return (self.now.at_ns - self.before.at_ns) / _NS

    @property
    def steps(self) -> int:
        return self.now.step - self.before.step

    @property
    def samples_per_s(self) -> float:
        return max(0, self.now.samples - self.before.samples) / self.passed_s

    def part(self, name: str) -> float:
        """Return the fraction of its time spent on this."""
        spent_ns: int = getattr(self.now, name) - getattr(self.before, name)
        return min(1.0, max(0.0, spent_ns / _NS / self.passed_s))
