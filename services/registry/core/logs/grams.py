"""Which pieces of four bytes a text has, in few bytes: a search for letters passes by what cannot hold them.

A Bloom filter (Bloom 1970) with one hash: a text's pieces overlap, so that a search asks for many of them, and one hash is least to look up.
It says too much at times, never too little.
"""

import re
from dataclasses import dataclass

import numpy as np

GRAM_BYTES = 4
MOST_BITS = 22
LEAST_BITS = 10
FILL = 0.4
"""The filter is as small as it can be with no larger part of its bits set."""
MOST_ASKED = 64
_MULTIPLIER = 0x9E3779B1
_META = "\\.[](){}*+?^$"
_OPAQUE = re.compile(r"\[|\\[0-9pPxQE]")
"""What may go on behind its first letters: nothing from there on is looked at."""
_TOKEN = re.compile(r"(\\.|[^\\])([*+?]+|\{[0-9,]*\}[?+]?)?", re.DOTALL)
"""A letter or an escape, and how often it comes."""


@dataclass(frozen=True, slots=True)
class Grams:
    """A filter of 2 ** `bits` bits; a piece's place in it is its hash's highest bits."""

    bits: int
    filter: bytes

    def may_hold(self, hashes: list[int]) -> bool:
        """Whether a text with these pieces may be in it."""
        places = [each >> (32 - self.bits) for each in hashes]
        return all(self.filter[place >> 3] & (1 << (place & 7)) for place in places)


def index_letters(letters: bytes | memoryview) -> Grams:
    """Return the filter of a text."""
    found: np.ndarray = np.zeros(1 << MOST_BITS, np.bool_)
    found[_hashes(letters) >> np.uint32(32 - MOST_BITS)] = True
    bits = MOST_BITS
    while bits > LEAST_BITS:
        folded: np.ndarray = found[::2] | found[1::2]
        if folded.mean() > FILL:
            break
        found, bits = folded, bits - 1
    return Grams(bits, np.packbits(found, bitorder="little").tobytes())


def asked_hashes(text: str) -> list[int]:
    """Return what a filter is asked for where a text is looked for; nothing for one that is too short."""
    return list(dict.fromkeys(map(int, _hashes(text.encode()))))[:MOST_ASKED]


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


def _hashes(letters: bytes | memoryview) -> np.ndarray:
    """The hash of each piece of four bytes, in their order (Knuth's multiplicative hashing)."""
    count = len(letters) - GRAM_BYTES + 1
    if count <= 0:
        return np.zeros(0, np.uint32)
    pieces = np.ndarray((count,), "<u4", letters, strides=(1,))
    return pieces * np.uint32(_MULTIPLIER)
