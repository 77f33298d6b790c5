"""Media as TensorBoard summaries: images, histograms, texts and tables, under the tags that TensorBoard expects."""

import json
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.text import metadata as text_metadata

from muster.client import models

MAX_ROWS = 100
"""Maximum rows of a table, which TensorBoard shows as text."""
_STRING = 7
"""DT_STRING."""


def event_of(item: models.MediaItem, content: bytes) -> Event:
    """Return an image, table, text or histogram as a TensorBoard event."""
    return Event(
        wall_time=item.time.timestamp(), step=item.step, summary=Summary(value=[_value(item, content)])
    )


def _value(item: models.MediaItem, content: bytes) -> Summary.Value:
    tag = f"{item.group}/{item.name}"
    if item.kind == "image":
        width, height = (int(item.about.get(side) or 0) for side in ("width", "height"))  # type: ignore[arg-type]
        image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=content)
        return Summary.Value(tag=tag, image=image)
    if item.kind == "histogram":
        return Summary.Value(tag=tag, histo=_histogram(json.loads(content)))
    text = content.decode("utf-8", "replace") if item.kind == "text" else _markdown(json.loads(content))
    tensor = TensorProto(dtype=_STRING, string_val=[text.encode()])
    tensor.tensor_shape.dim.add(size=1)
    return Summary.Value(tag=tag, tensor=tensor, metadata=text_metadata.create_summary_metadata(tag, ""))


def _histogram(counted: dict[str, Any]) -> HistogramProto:
    counts = counted["counts"]
    least, greatest = counted["least"], counted["greatest"]
    width = (greatest - least) / len(counts)
    edges = counted.get("edges") or [least + width * place for place in range(len(counts))] + [greatest]
    # TensorBoard identifies buckets by their right edges; an empty first bucket sets the left edge.
    return HistogramProto(
        min=least,
        max=greatest,
        num=sum(counts),
        sum=counted["sum"],
        sum_squares=counted["sum_squares"],
        bucket_limit=edges,
        bucket=[0, *counts],
    )


def _markdown(table: dict[str, Any]) -> str:
    rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"][:MAX_ROWS]]
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    left = len(table["rows"]) - MAX_ROWS
    return "\n".join([*lines, *([f"\n… and {left} more rows"] if left > 0 else [])])
