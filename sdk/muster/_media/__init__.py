"""Encoding of logged media: images, tables, texts and histograms. Pure; numpy, PIL and torch are supported but not required."""

from muster._media.content import Content
from muster._media.histograms import histogram_of
from muster._media.images import image_of
from muster._media.tables import table_of
from muster._media.texts import text_of

__all__ = ["Content", "histogram_of", "image_of", "table_of", "text_of"]
