"""Metrics in bulk, as Arrow and Parquet.

Generated from the gateway's table of operations by `make gen`: change that, or `muster.client.handwritten.exports`, which has what is more than a call.
"""

from muster.client.awaited import AsyncNoun, awaited, streamed
from muster.client.handwritten.exports import HandwrittenExports


class Exports(HandwrittenExports):
    """Metrics in bulk, as Arrow and Parquet."""


class AsyncExports(AsyncNoun[Exports]):
    """`Exports`, awaited."""

    metrics = awaited(Exports.metrics)
    table = awaited(Exports.table)
    arrow = streamed(Exports.arrow)
    table_arrow = streamed(Exports.table_arrow)
