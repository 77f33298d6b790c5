"""Read spans from the local trace files and build trees."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError


class Span(BaseModel):
    """One line of a trace file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str
    service: str
    start_ns: int
    end_ns: int
    error: str | None = None
    attributes: dict[str, JsonValue] = {}
    links: list[tuple[str, str]] = []


@dataclass(slots=True)
class SpanNode:
    """A span with its children, in order of start time."""

    span: Span
    children: "list[SpanNode]" = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.span.name

    @property
    def service(self) -> str:
        return self.span.service

    @property
    def error(self) -> str | None:
        return self.span.error

    @property
    def start_ns(self) -> int:
        return self.span.start_ns

    @property
    def duration_ms(self) -> float:
        return (self.span.end_ns - self.span.start_ns) / 1e6

    @property
    def last_ns(self) -> int:
        """End of the branch: when its last span ended."""
        return max(self.span.end_ns, *(child.last_ns for child in self.children), 0)

    @property
    def longest_ms(self) -> float:
        """The longest duration in the branch."""
        return max(self.duration_ms, *(child.longest_ms for child in self.children), 0.0)

    @property
    def size(self) -> int:
        """The number of spans in the branch."""
        return 1 + sum(child.size for child in self.children)

    @property
    def services(self) -> set[str]:
        """The services that the branch passed through."""
        return {self.service}.union(*(child.services for child in self.children))

    def as_json(self) -> dict[str, JsonValue]:
        """Return the branch as one JSON object."""
        span: dict[str, JsonValue] = json.loads(self.span.model_dump_json())
        return {
            **span,
            "duration_ms": self.duration_ms,
            "children": [child.as_json() for child in self.children],
        }


@dataclass(frozen=True, slots=True)
class SpanSummary:
    """Statistics of all spans with one name and service."""

    name: str
    service: str
    count: int
    median_ms: float
    total_ms: float


def load(folder: Path, trace_id: str) -> tuple[list[Span], list[Span]]:
    """Return the spans of a trace, and those of other traces that link to it."""
    own: list[Span] = []
    others: list[Span] = []
    for span in _spans(folder, trace_id.encode()):
        if span.trace_id == trace_id:
            own.append(span)
        elif any(link[0] == trace_id for link in span.links):
            others.append(span)
    return own, others


def tree(spans: Iterable[Span]) -> list[SpanNode]:
    """Return the roots; a span with an unknown parent is a root, and duplicates are merged."""
    nodes = {span.span_id: SpanNode(span) for span in spans}
    roots: list[SpanNode] = []
    for node in sorted(nodes.values(), key=lambda node: node.start_ns):
        parent = nodes.get(node.span.parent_id or "")
        (roots if parent is None or parent is node else parent.children).append(node)
    return roots


def summed(spans: Iterable[Span]) -> list[SpanSummary]:
    """Return one line per name and service, longest total first."""
    durations: dict[tuple[str, str], list[float]] = {}
    for span in spans:
        durations.setdefault((span.name, span.service), []).append((span.end_ns - span.start_ns) / 1e6)
    sums = [
        SpanSummary(name, service, len(each), median(each), sum(each))
        for (name, service), each in durations.items()
    ]
    return sorted(sums, key=lambda one: -one.total_ms)


def _spans(folder: Path, wanted: bytes) -> Iterator[Span]:
    """Yield the spans whose line mentions `wanted`; skips rotated files and truncated lines."""
    for file in sorted(folder.glob("*.jsonl*")):
        try:
            with file.open("rb") as lines:
                for line in lines:
                    if wanted in line:
                        try:
                            yield Span.model_validate_json(line)
                        except ValidationError:
                            continue
        except FileNotFoundError:
            continue
