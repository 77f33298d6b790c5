"""A compact filter for text search: which n-grams of four and six bytes occur in which slice of a text. Searches skip slices without a match.

A Bloom filter (Bloom 1970) with one hash function: n-grams overlap, so a search tests many of them, and one hash is cheapest. Each position of the
filter has one bit per slice of the text (bit-sliced signatures; Goodwin et al., BitFunnel, 2017), so that eight bytes answer for all slices. Short words
are found by n-grams of four bytes; numbers and ids by those of six, since nearly every text contains every four-digit n-gram. There are false positives, but
no false negatives.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

MOST_SLICES = 64
MOST_BITS = 17
LEAST_BITS = 10
FILL = 0.5
"""The filter is the smallest one in which at most this fraction of each slice's bits is set."""
MOST_ASKED = 12
_SHORT_BYTES, _LONG_BYTES = 4, 6
_SHORT_MULTIPLIER, _LONG_MULTIPLIER = 0x9E3779B1, 0x85EBCA6B
_KEPT_LONG = 1 << 12
"""Six-byte n-grams are stored only if their hash has this bit: half of the filter's size, and a long word still has enough of them."""
_META = "\\.[](){}*+?^$"
_OPAQUE = re.compile(r"\[|\\[0-9pPxQE]")
"""Constructs that may match anything after their first characters: parsing stops there."""
_TOKEN = re.compile(r"(\\.|[^\\])([*+?]+|\{[0-9,]*\}[?+]?)?", re.DOTALL)
"""A character or escape, and its quantifier."""


@dataclass(frozen=True, slots=True)
class NgramFilter:
    """A filter with 2 ** `bits` positions. Each has one bit per slice, the first slice's the lowest. An n-gram's position is its hash's highest bits.

    Positions of several bytes are big-endian, as Postgres reads them.
    """

    bits: int
    slices: int
    filter: bytes


def slices_of(parts: int) -> int:
    """Return into how many slices a text with this number of parts is divided: a power of two."""
    return min(MOST_SLICES, 1 << (parts - 1).bit_length())


def slice_of(part: int, parts: int, slices: int) -> int:
    """Return the slice that contains a part."""
    return part if parts <= slices else part * slices // parts


def build_filter(parts: Sequence[bytes | memoryview]) -> NgramFilter:
    """Return the filter of a text in parts."""
    slices = slices_of(len(parts))
    found: np.ndarray = np.zeros((slices, 1 << MOST_BITS), np.bool_)
    for part, text in enumerate(parts):
        for hashes in _hashes(text):
            found[slice_of(part, len(parts), slices), hashes >> np.uint32(32 - MOST_BITS)] = True
    bits = MOST_BITS
    while bits > LEAST_BITS:
        folded: np.ndarray = found[:, ::2] | found[:, 1::2]
        if folded.mean(axis=1).max() > FILL:
            break
        found, bits = folded, bits - 1
    packed = np.packbits(found.T, bitorder="little")
    return NgramFilter(bits, slices, packed.reshape(-1, max(1, slices // 8))[:, ::-1].tobytes())


def asked_hashes(text: str) -> list[int]:
    """Return the hashes to look up for a text, most selective first; none if the text is too short.

    For a long text, n-grams are selected by the order of their hashes, independent of their position.
    """
    short, long = _hashes(text.encode())
    return [int(each) for hashes in (long, short) for each in np.unique(hashes)][:MOST_ASKED]


def slices_with(hashes: Sequence[int], filter_bytes: Iterable[bytes], bits: int, slices: int) -> int:
    """Return the slices that may contain a text with these n-grams, as bits.

    Args:
        filter_bytes: The filter's bytes at the position of each hash.
    """
    found = everywhere = (1 << slices) - 1
    for each, place in zip(hashes, filter_bytes, strict=True):
        bit = (each >> (32 - bits)) * slices & 7
        found &= int.from_bytes(place, "big") >> bit & everywhere
    return found


def required_text(pattern: str) -> str:
    """Return the longest text that every line matching the pattern contains; empty if it cannot be determined."""
    if "|" in pattern or "(?" in pattern:
        return ""
    pieces, depth, position = [""], 0, 0
    while position < len(pattern) and not _OPAQUE.match(pattern, position):
        token = _TOKEN.match(pattern, position)
        text, count = (token[1], token[2] or "") if token else (pattern[position], "")
        position += len(text) + len(count)
        depth += (text == "(") - (text == ")")
        if len(text) == 1 and text not in _META and not count and depth == 0:
            pieces[-1] += text
        else:
            pieces.append("")
    return max(pieces, key=len)


def _hashes(text: bytes | memoryview) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of all four-byte n-grams, and of some six-byte ones (Knuth's multiplicative hashing; long ones from two overlapping short ones)."""
    count = max(0, len(text) - _SHORT_BYTES + 1)
    if not count:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    pieces = np.ndarray((count,), "<u4", text, strides=(1,))
    short = pieces * np.uint32(_SHORT_MULTIPLIER)
    beyond = _LONG_BYTES - _SHORT_BYTES
    long = short[:-beyond] * np.uint32(_LONG_MULTIPLIER) + short[beyond:]
    return short, long[long & np.uint32(_KEPT_LONG) != 0]
