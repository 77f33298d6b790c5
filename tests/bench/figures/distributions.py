"""Draws how long jobs take under each policy: on the left what part of all jobs is done within which time, on the right the averages by
workload beside those that were published. Plain SVG: a drawing library is not worth its weight for two panels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 980, 430
COLOURS = {
    "default": "#cc79a7",
    "fifo": "#8a8a8a",
    "priority": "#0072b2",
    "fair_share": "#d55e00",
    "elastic": "#009e73",
}
DASHES = {"fair_share": "7 5"}
MARKS = {"Pollux": "◇", "Tiresias": "△"}
DECADES = (100, 1_000, 10_000, 100_000)
LABELS = {100: "100 s", 1_000: "1,000 s", 10_000: "10,000 s", 100_000: "100,000 s"}


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle of the drawing with its scales: `low` to `high` seconds, logarithmic."""

    left: float
    top: float
    width: float
    height: float
    low: float
    high: float

    def along(self, seconds: float) -> float:
        """0 at `low`, 1 at `high`."""
        clipped = min(max(seconds, self.low), self.high)
        return math.log(clipped / self.low) / math.log(self.high / self.low)


def draw(
    completions_s: Mapping[str, Sequence[float]],
    means_s: Mapping[str, Mapping[str, float]],
    published_s: Mapping[str, Mapping[str, float]],
) -> str:
    """The drawing: completion times of all jobs by policy, averages by policy and workload, averages by published policy and workload."""
    shares = Panel(60, 70, 420, 300, 50, 200_000)
    averages = Panel(580, 70, 380, 300, 1_500, 60_000)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        '<g font-family="DejaVu Sans, Helvetica, sans-serif" font-size="12" fill="#222222">',
        *_shares(shares, completions_s),
        *_averages(averages, means_s, published_s),
        *_legend(list(completions_s), list(published_s)),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _shares(panel: Panel, completions_s: Mapping[str, Sequence[float]]) -> list[str]:
    right, bottom = panel.left + panel.width, panel.top + panel.height
    parts = [_text(panel.left, panel.top - 14, "jobs that are done within", weight="bold")]
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - part * panel.height
        parts += [
            _line(panel.left, y, right, y, "#e4e4e4"),
            _text(panel.left - 8, y + 4, f"{part:.0%}", "end"),
        ]
    for tick in DECADES:
        x = panel.left + panel.along(tick) * panel.width
        parts += [_line(x, panel.top, x, bottom, "#e4e4e4"), _text(x, bottom + 20, LABELS[tick], "middle")]
    for policy, seconds in completions_s.items():
        points = [f"{panel.left:.1f},{bottom:.1f}"]
        for number, value in enumerate(sorted(seconds)):
            x = panel.left + panel.along(value) * panel.width
            for count in (number, number + 1):
                points.append(f"{x:.1f},{bottom - count / len(seconds) * panel.height:.1f}")
        dash = f' stroke-dasharray="{DASHES[policy]}"' if policy in DASHES else ""
        parts.append(
            f'<polyline fill="none" stroke="{COLOURS[policy]}" stroke-width="2"{dash} points="{" ".join(points)}"/>'
        )
    return parts


def _averages(
    panel: Panel, means_s: Mapping[str, Mapping[str, float]], published_s: Mapping[str, Mapping[str, float]]
) -> list[str]:
    right, bottom = panel.left + panel.width, panel.top + panel.height
    parts = [_text(panel.left, panel.top - 14, "average completion time", weight="bold")]
    for tick in (2_000, 5_000, 10_000, 20_000, 50_000):
        y = bottom - panel.along(tick) * panel.height
        parts += [
            _line(panel.left, y, right, y, "#e4e4e4"),
            _text(panel.left - 8, y + 4, f"{tick:,} s", "end"),
        ]
    workloads = list(next(iter(means_s.values())))
    for number, workload in enumerate(workloads):
        middle = panel.left + (number + 0.5) * panel.width / len(workloads)
        parts.append(_text(middle, bottom + 20, workload, "middle"))
        for offset, (policy, means) in enumerate(means_s.items()):
            x = middle + (offset - 2) * 13
            y = bottom - panel.along(means[workload]) * panel.height
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[policy]}"/>')
        for name, means in published_s.items():
            y = bottom - panel.along(means[workload]) * panel.height
            parts.append(_text(middle + 38, y + 5, MARKS[name], "middle", size=15))
    return parts


def _legend(policies: Sequence[str], published: Sequence[str]) -> list[str]:
    parts, x = [], 60.0
    for policy in policies:
        dash = f' stroke-dasharray="{DASHES[policy]}"' if policy in DASHES else ""
        parts.append(f'<path d="M{x} 24h24" stroke="{COLOURS[policy]}" stroke-width="4" fill="none"{dash}/>')
        parts.append(_text(x + 32, 28, policy))
        x += 60 + 8 * len(policy)
    for name in published:
        parts += [_text(x, 29, MARKS[name], size=15), _text(x + 20, 28, f"{name} (published)")]
        x += 160
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(
    x: float, y: float, text: str, anchor: str = "start", weight: str = "normal", size: int = 12
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
