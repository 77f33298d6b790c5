"""Which pieces of four and six bytes stand in which part of a text, in few bytes: a search for letters passes by what cannot hold them.

A Bloom filter (Bloom 1970) with one hash: a text's pieces overlap, so that a search asks for many of them, and one hash is least to look up.
A place of it has a bit for each slice of the text (the bit-sliced signatures of Goodwin et al., BitFunnel, 2017), so that eight bytes answer
for all slices. Short words are found by their pieces of four bytes; numbers and ids by those of six, since nearly every text has every four digits;
and what stands between two other letters as a whole (of `shard-04711.tar` the number) by itself. It says too much at times, never too little.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_SLICES = 64
MOST_BITS = 17
LEAST_BITS = 10
FILL = 0.5
"""The filter is as small as it can be with no larger part of a slice's bits set."""
MOST_ASKED, MOST_WORDS_ASKED = 16, 4
_SHORT_BYTES, _LONG_BYTES = 4, 6
_SHORT_MULTIPLIER, _LONG_MULTIPLIER = 0x9E3779B1, 0x85EBCA6B
_KEPT_LONG = 1 << 12
"""Of the long pieces those whose hash has this bit are kept: half of the filter's size, and a long word has enough of them."""
_WORD_BYTES = 4
"""Shorter words are their pieces' matter."""
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIX = 0xBF58476D1CE4E5B9
_IS_WORD: np.ndarray = np.zeros(256, np.bool_)
_IS_WORD[[*range(48, 58), *range(65, 91), *range(97, 123)]] = True
_META = "\\.[](){}*+?^$"
_OPAQUE = re.compile(r"\[|\\[0-9pPxQE]")
"""What may go on behind its first letters: nothing from there on is looked at."""
_TOKEN = re.compile(r"(\\.|[^\\])([*+?]+|\{[0-9,]*\}[?+]?)?", re.DOTALL)
"""A letter or an escape, and how often it comes."""


@dataclass(frozen=True, slots=True)
class Grams:
    """A filter of 2 ** `bits` places, each with a bit for every slice, the first slice's the lowest; a piece's place is its hash's highest bits.

    Places of several bytes begin with the highest, as Postgres reads them.
    """

    bits: int
    slices: int
    filter: bytes

    @property
    def width(self) -> int:
        """Bytes of a place beside those of others (`side_by_side`): whole ones."""
        return max(1, self.slices // 8)

    def slices_with(self, hashes: Sequence[int]) -> int:
        """The slices in which a text with these pieces may be, as bits; `store.log_objects` asks the same of Postgres."""
        found = everywhere = (1 << self.slices) - 1
        for each in hashes:
            bit = (each >> (32 - self.bits)) * self.slices
            place = self.filter[bit >> 3 : (bit >> 3) + self.width]
            found &= int.from_bytes(place, "big") >> (bit & 7) & everywhere
        return found


def slices_of(parts: int) -> int:
    """Into how many slices a text of so many parts is cut: a power of two."""
    return min(MOST_SLICES, 1 << (parts - 1).bit_length())


def slice_of(part: int, parts: int, slices: int) -> int:
    """In which of so many slices a part is."""
    return part if parts <= slices else part * slices // parts


def index_letters(parts: Sequence[bytes | memoryview]) -> Grams:
    """Return the filter of a text in parts."""
    slices = slices_of(len(parts))
    found: np.ndarray = np.zeros((slices, 1 << MOST_BITS), np.bool_)
    for part, letters in enumerate(parts):
        for hashes in (*_hashes(letters), _words(letters)):
            found[slice_of(part, len(parts), slices), hashes >> np.uint32(32 - MOST_BITS)] = True
    bits = MOST_BITS
    while bits > LEAST_BITS:
        folded: np.ndarray = found[:, ::2] | found[:, 1::2]
        if folded.mean(axis=1).max() > FILL:
            break
        found, bits = folded, bits - 1
    packed = np.packbits(found.T, bitorder="little")
    return Grams(bits, slices, packed.reshape(-1, max(1, slices // 8))[:, ::-1].tobytes())


def side_by_side(filters: Sequence[Grams]) -> bytes:
    """Return filters of equally many places as one: each place has the bytes of all, in their order, so that one look answers for all."""
    return np.concatenate([_places(one) for one in filters], axis=1).tobytes()


def asked_hashes(text: str) -> list[int]:
    """Return what a filter is asked for where a text is looked for, what tells most first; nothing for one that is too short.

    Of a long text pieces are drawn by the order of their hashes, wherever they stand in it.
    """
    short, long = _hashes(text.encode())
    return [int(each) for hashes in (long, short) for each in np.unique(hashes)][:MOST_ASKED]


def asked_words(text: str) -> list[int]:
    """Return the same of the words that stand in a text with another letter on either side, the longest first."""
    letters = text.encode()
    begins, ends = _bounds(letters)
    inner = [(begin, end) for begin, end in zip(begins, ends, strict=True) if begin and end < len(letters)]
    longest = sorted(inner, key=lambda bounds: bounds[0] - bounds[1])[:MOST_WORDS_ASKED]
    return [int(place) for begin, end in longest for place in _words(letters[begin:end])]


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


def _places(grams: Grams) -> np.ndarray:
    """A row of bytes for each place."""
    content = np.frombuffer(grams.filter, np.uint8)
    if grams.slices >= 8:
        return content.reshape(-1, grams.width)
    bits = np.unpackbits(content, bitorder="little").reshape(-1, grams.slices)
    return np.packbits(bits, axis=1, bitorder="little")


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


def _words(letters: bytes | memoryview) -> np.ndarray:
    """Two hashes of each word (letters and digits of ASCII), in one go: from a polynomial of its bytes (Rabin and Karp), by running sums of all.

    Where lines touch two words may be taken for one: those are looked for by nobody, since they have no other letter of their line beside them.
    """
    begins, ends = _bounds(letters)
    sums = np.zeros(len(letters) + 1, np.uint64)
    values = np.frombuffer(letters, np.uint8).astype(np.uint64)
    np.cumsum(values * _powers(_BASE, len(letters)), out=sums[1:])
    hashes = (sums[ends] - sums[begins]) * _powers(_INVERSE, len(letters))[begins]
    mixed: np.ndarray = hashes * np.uint64(_MIX)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(_BASE)
    return np.concatenate((mixed >> np.uint64(32), mixed & np.uint64(0xFFFFFFFF))).astype(np.uint32)


def _powers(base: int, count: int) -> np.ndarray:
    """The powers from the first on, modulo 2 ** 64."""
    powers: np.ndarray = np.cumprod(np.full(count, base, np.uint64))
    return powers


def _bounds(letters: bytes | memoryview) -> tuple[np.ndarray, np.ndarray]:
    """Where words that are long enough begin and end."""
    inside = np.zeros(len(letters) + 2, np.int8)
    inside[1:-1] = _IS_WORD[np.frombuffer(letters, np.uint8)]
    turns = np.diff(inside)
    begins, ends = np.flatnonzero(turns == 1), np.flatnonzero(turns == -1)
    are_long = ends - begins >= _WORD_BYTES
    return begins[are_long], ends[are_long]
