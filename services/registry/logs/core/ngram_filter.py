"""Which pieces of four and six bytes stand in which part of a text, in few bytes: a search for letters passes by what cannot hold them.

A Bloom filter (Bloom 1970) with one hash: a text's pieces overlap, so that a search asks for many of them, and one hash is least to look up.
A place of it has a bit for each slice of the text (the bit-sliced signatures of Goodwin et al., BitFunnel, 2017), so that eight bytes answer
for all slices. Short words are found by their pieces of four bytes; numbers and ids by those of six, since nearly every text has every four
digits. It says too much at times, never too little.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

MOST_SLICES = 64
MOST_BITS = 17
LEAST_BITS = 10
FILL = 0.5
"""The filter is as small as it can be with no larger part of a slice's bits set."""
MOST_ASKED = 12
_SHORT_BYTES, _LONG_BYTES = 4, 6
_SHORT_MULTIPLIER, _LONG_MULTIPLIER = 0x9E3779B1, 0x85EBCA6B
_KEPT_LONG = 1 << 12
"""Of the long pieces those whose hash has this bit are kept: half of the filter's size, and a long word has enough of them."""
_META = "\\.[](){}*+?^$"
_OPAQUE = re.compile(r"\[|\\[0-9pPxQE]")
"""What may go on behind its first letters: nothing from there on is looked at."""
_TOKEN = re.compile(r"(\\.|[^\\])([*+?]+|\{[0-9,]*\}[?+]?)?", re.DOTALL)
"""A letter or an escape, and how often it comes."""


@dataclass(frozen=True, slots=True)
class NgramFilter:
    """A filter of 2 ** `bits` places, each with a bit for every slice, the first slice's the lowest; a piece's place is its hash's highest bits.

    Places of several bytes begin with the highest, as Postgres reads them.
    """

    bits: int
    slices: int
    filter: bytes


def slices_of(parts: int) -> int:
    """Into how many slices a text of so many parts is cut: a power of two."""
    return min(MOST_SLICES, 1 << (parts - 1).bit_length())


def slice_of(part: int, parts: int, slices: int) -> int:
    """In which of so many slices a part is."""
    return part if parts <= slices else part * slices // parts


def build_filter(parts: Sequence[bytes | memoryview]) -> NgramFilter:
    """Return the filter of a text in parts."""
    slices = slices_of(len(parts))
    found: np.ndarray = np.zeros((slices, 1 << MOST_BITS), np.bool_)
    for part, letters in enumerate(parts):
        for hashes in _hashes(letters):
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
    """Return what a filter is asked for where a text is looked for, what tells most first; nothing for one that is too short.

    Of a long text pieces are drawn by the order of their hashes, wherever they stand in it.
    """
    short, long = _hashes(text.encode())
    return [int(each) for hashes in (long, short) for each in np.unique(hashes)][:MOST_ASKED]


def slices_with(
    hashes: Sequence[int], places: Iterable[bytes], bits: int, slices: int, *, has_own_bytes: bool = False
) -> int:
    """Return the slices in which a text with these pieces may be, as bits.

    Args:
        places: the filter's bytes at each hash's place.
        has_own_bytes: slices of less than a byte begin there, and not where their bits stand in the filter.
    """
    found = everywhere = (1 << slices) - 1
    for each, place in zip(hashes, places, strict=True):
        bit = 0 if has_own_bytes else (each >> (32 - bits)) * slices & 7
        found &= int.from_bytes(place, "big") >> bit & everywhere
    return found


def required_text(pattern: str) -> str:
    """Return the longest piece of text that each line with the pattern has; empty where that is not plain to see."""
    if "|" in pattern or "(?" in pattern:
        return ""
    pieces, depth, place = [""], 0, 0
    while place < len(pattern) and not _OPAQUE.match(pattern, place):
        token = _TOKEN.match(pattern, place)
        text, count = (token[1], token[2] or "") if token else (pattern[place], "")
        place += len(text) + len(count)
        depth += (text == "(") - (text == ")")
        if len(text) == 1 and text not in _META and not count and depth == 0:
            pieces[-1] += text
        else:
            pieces.append("")
    return max(pieces, key=len)


def _hashes(letters: bytes | memoryview) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of each piece of four bytes, and of some of six (Knuth's multiplicative hashing; the long of two short that overlap)."""
    count = max(0, len(letters) - _SHORT_BYTES + 1)
    if not count:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    pieces = np.ndarray((count,), "<u4", letters, strides=(1,))
    short = pieces * np.uint32(_SHORT_MULTIPLIER)
    beyond = _LONG_BYTES - _SHORT_BYTES
    long = short[:-beyond] * np.uint32(_LONG_MULTIPLIER) + short[beyond:]
    return short, long[long & np.uint32(_KEPT_LONG) != 0]
