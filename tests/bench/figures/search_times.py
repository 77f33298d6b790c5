"""Draws how long searches take to find what is good: a panel for each size of cluster, a line for each decision class with its median and its
interval, and how long the bound takes. Plain SVG, as in `distributions`."""

import math
from collections.abc import Mapping, Set
from html import escape

Bar = tuple[float, float, float]
"""Lower end, median, upper end; seconds."""

LEFT, TOP, LINE, PANEL, GAP = 215, 56, 19, 180, 22
LEGEND = 640
OURS, PEER, BOUND = "#0072b2", "#d55e00", "#009e73"


def draw(bars: Mapping[str, Mapping[int, Bar]], bounds: Mapping[int, float], peers: Set[str]) -> str:
    """The drawing: `bars` by class and number of slots, `bounds` by number of slots; scales are logarithmic, one for each panel.

    A class that did not play on some cluster has no bar there.
    """
    bottom = TOP + LINE * len(bars)
    width = LEFT + max((PANEL + GAP) * len(bounds), LEGEND) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 62}">',
        f'<rect width="{width}" height="{bottom + 62}" fill="#ffffff"/>',
        '<g font-family="DejaVu Sans, Helvetica, sans-serif" font-size="12" fill="#222222">',
    ]
    for number, name in enumerate(bars):
        y = TOP + LINE * (number + 0.5)
        parts.append(_text(LEFT - 12, y + 4, name, "end", PEER if name in peers else OURS))
    for column, slots in enumerate(bounds):
        of_panel = {name: by_slots.get(slots) for name, by_slots in bars.items()}
        parts += _panel(LEFT + column * (PANEL + GAP), slots, of_panel, bounds[slots], peers)
    parts += _legend(bottom + 48)
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _panel(
    left: float, slots: int, bars: Mapping[str, Bar | None], bound: float, peers: Set[str]
) -> list[str]:
    finite = [value for bar in bars.values() for value in bar or () if math.isfinite(value)]
    low, high = min(*finite, bound) / 1.15, max(finite) * 1.15

    def across(seconds: float) -> float:
        return left + PANEL * math.log(min(seconds, high) / low) / math.log(high / low)

    bottom = TOP + LINE * len(bars)
    parts = [_text(left, TOP - 14, f"{slots} slot{'s' if slots > 1 else ''}", weight="bold")]
    for tick in _ticks(low, high):
        parts.append(_line(across(tick), TOP, across(tick), bottom, "#e4e4e4"))
        parts.append(_text(across(tick), bottom + 16, f"{tick:g}", "middle"))
    parts.append(_line(across(bound), TOP, across(bound), bottom, BOUND, 'stroke-dasharray="5 4"'))
    for number, (name, bar) in enumerate(bars.items()):
        if bar is None:
            continue
        least, median, most = bar
        y, colour = TOP + LINE * (number + 0.5), PEER if name in peers else OURS
        parts.append(_line(across(least), y, across(most), y, colour, 'stroke-width="2"'))
        parts.append(f'<circle cx="{across(median):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
    return parts


def _ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 20 else (1, 3)
    return [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]


def _legend(y: float) -> list[str]:
    groups = ((OURS, "ours"), (PEER, "peers"), (BOUND, "halving, ranked perfectly"))
    parts, x = [_text(LEFT, y, "seconds to the goal: median and 95 % interval")], LEFT + 310.0
    for colour, label in groups:
        parts += [f'<circle cx="{x:.1f}" cy="{y - 4:.1f}" r="4" fill="{colour}"/>', _text(x + 9, y, label)]
        x += 40 + 7 * len(label)
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def _text(
    x: float, y: float, text: str, anchor: str = "start", colour: str = "#222222", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
