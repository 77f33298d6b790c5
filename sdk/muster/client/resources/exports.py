"""Bulk exports of metrics and trial tables, as Arrow or Parquet.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.exports` has the other methods.
"""

from muster.client.async_resources import AsyncAPIResource, awaited, streamed
from muster.client.handwritten.exports import HandwrittenExports


class Exports(HandwrittenExports):
    """Bulk exports of metrics and trial tables, as Arrow or Parquet."""


class AsyncExports(AsyncAPIResource[Exports]):
    """`Exports`, awaited."""

    metrics = awaited(Exports.metrics)
    table = awaited(Exports.table)
    arrow = streamed(Exports.arrow)
    table_arrow = streamed(Exports.table_arrow)
