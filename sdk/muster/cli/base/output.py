"""Command output: results on stdout (JSON with `--json`); messages on stderr.

Heavy imports happen inside functions so that `muster --help` stays fast.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from muster._clock import now_ms
from muster.cli.base.fields import names_of, narrowed, values_of

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

SENTENCES = frozenset({"reason", "metrics", "description", "comment"})
"""Columns that may wrap; all others stay on one line."""
WIDEST = 10_000
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"), (0, "s"))
_WEEK_S = 7 * 86400
_OTHER_CLOCK_S = 5
"""Clock skew in seconds up to which a time of the platform in the future is shown as now."""
STATE_STYLES = {
    "active": "cyan", "running": "cyan", "submitted": "blue", "queued": "blue", "waiting": "blue",
    "completed": "green", "ready": "green", "saved": "green", "stopped": "yellow", "paused": "yellow",
    "pausing": "yellow", "interrupted": "yellow",
    "parked": "yellow", "stopping": "yellow", "finishing": "cyan", "draining": "yellow", "uploading": "blue",
    "invalid": "yellow", "cancelled": "magenta", "error": "red", "rejected": "red", "lost": "red", "corrupt": "red",
}  # fmt: skip


@dataclass(slots=True)
class Out:
    """Output settings of this process; set once, by the common options."""

    json: bool = False
    debug: bool = False
    fields: tuple[str, ...] = ()


out = Out()


def _want_json(value: bool) -> bool:
    out.json = out.json or value
    return value


def _want_debug(value: bool) -> bool:
    out.debug = out.debug or value
    return value


def _want_fields(value: str | None) -> str | None:
    out.fields = names_of(value or "")
    return value


def chosen(
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            metavar="NAMES",
            help="Show only these fields: 'number,best.value'. With --json, omit the others.",
            callback=_want_fields,
            expose_value=False,
        ),
    ] = None,
) -> None:
    """The option of every list."""


def common(
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON on stdout and nothing else.", callback=_want_json, expose_value=False
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error.", callback=_want_debug, expose_value=False
        ),
    ] = False,
) -> None:
    """The options of every command."""


def console(stderr: bool = False) -> "Console":
    """Return a console; wide enough for a table when the output is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, highlight=False, soft_wrap=not stream.isatty(), width=None if stream.isatty() else 200
    )


def emit(value: "BaseModel | Sequence[BaseModel]", show: Callable[[], None]) -> None:
    """Print `value` as JSON with `--json`, else call `show`; of a list, print only the chosen fields."""
    if out.fields and value and isinstance(value, Sequence):
        _emit_fields(value)
        return
    if not out.json:
        show()
        return
    if isinstance(value, Sequence):
        print(json.dumps([json.loads(item.model_dump_json()) for item in value]))
    else:
        print(value.model_dump_json())


def _emit_fields(items: "Sequence[BaseModel]") -> None:
    rows = values_of(items, out.fields)
    if out.json:
        dumped = (json.loads(item.model_dump_json()) for item in items)
        print(json.dumps([narrowed(item, out.fields) for item in dumped]))
    else:
        table(out.fields, rows, "")


def emit_each(values: "Iterable[BaseModel]", show: Callable[["BaseModel"], None], empty: str) -> None:
    """Print values as they arrive: one JSON object a line, or by `show`; print `empty` if there are none."""
    is_empty = True
    for value in values:
        is_empty = False
        if out.json:
            print(value.model_dump_json(), flush=True)
        else:
            show(value)
    if is_empty:
        note("[dim]{}[/]", empty)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on stderr."""
    for warning in warnings:
        note("[yellow]{}[/]", warning)


def note(template: str, *values: object) -> None:
    """Print a message on stderr, `{}` filled with values whose markup is escaped; silent with `--json`."""
    if not out.json:
        from rich.markup import escape

        console(stderr=True).print(
            template.format(*[escape(printable(str(value))) for value in values]), soft_wrap=True
        )


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """Print rows under column names (a leading `>` aligns right), or the sentence `empty`."""
    from rich.table import Table
    from rich.text import Text

    cells = [[cell(value) for value in row] for row in rows]
    if not cells:
        note("[dim]{}[/]", empty)
        return
    view = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        name = column.lstrip(">")
        least = max(Text.from_markup(text).cell_len for text in (name, *[row[index] for row in cells]))
        width = None if name in SENTENCES else least
        view.add_column(name, justify="right" if column != name else "left", min_width=width)
    for row in cells:
        view.add_row(*row)
    paper = console()
    # In a narrow terminal, wrapped lines stay readable; columns of three characters do not.
    paper.width = max(
        paper.width, paper.measure(view, options=paper.options.update(max_width=WIDEST)).minimum
    )
    paper.print(view, crop=False)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line; pairs without a value are omitted."""
    from rich.table import Table

    view = Table(box=None, show_header=False, pad_edge=False)
    view.add_column(style="dim")
    view.add_column()
    for name, value in pairs:
        if value is not None and value != "" and value != []:
            view.add_row(name, cell(value))
    console().print(view)


def cell(value: object) -> str:
    """Format `value` for a terminal, markup escaped."""
    from rich.markup import escape

    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return number(value)
        case datetime():
            return when(value)
        case str() if value in STATE_STYLES:
            return f"[{STATE_STYLES[value]}]{escape(value)}[/]"
        case _:
            return escape(printable(str(value)))


def printable(text: str) -> str:
    """Replace control characters, so that names chosen by others cannot control this terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)


def number(value: float) -> str:
    """Format a number with four significant digits."""
    return (
        f"{value:.4g}"
        if value and (abs(value) < 1e-3 or abs(value) >= 1e5)
        else f"{value:.4f}".rstrip("0").rstrip(".")
    )


def when(moment: datetime) -> str:
    """Format `moment` relative to now, or as a date if it is more than a week away."""
    ago_s = now_ms() / 1000 - moment.timestamp()
    if -_OTHER_CLOCK_S < ago_s < 0:
        ago_s = 0.0
    span_s = abs(ago_s)
    if span_s >= _WEEK_S:
        return f"{moment:%Y-%m-%d}"
    size_s, unit = next(one for one in _SPANS if span_s >= one[0])
    age = f"{span_s / max(size_s, 1):.0f} {unit}"
    return f"in {age}" if ago_s < 0 else f"{age} ago"


def size(count: int) -> str:
    """Format a number of bytes with its unit."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def slots(
    count: int, least: int | None = None, most: int | None = None, fraction: float | None = None
) -> str:
    """Format a number of slots, with the range of an elastic trial: `4 (2 to 8)`; a fractional slot: `0.5`."""
    if fraction is not None:
        return f"{fraction:g}"
    if least is None or most is None or least == most:
        return str(count)
    return f"{count} ({least} to {most})"


@contextmanager
def bytes_bar(title: str) -> "Iterator[Callable[[int, int], None]]":
    """Show a progress bar for a transfer; yields a callback that takes (bytes added, bytes in all)."""
    if out.json or not sys.stderr.isatty():
        yield lambda more, total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn(title), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(more: int, total: int) -> None:
            progress.update(task, total=total, advance=more)

        yield advance


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Show a spinner, for work without a known length."""
    if out.json or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(title):
        yield
