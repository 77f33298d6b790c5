"""The committed mark of a source: what a batch means to it. Neighbour: `reports.py` holds the mark's row."""

from dataclasses import dataclass
from enum import StrEnum

FIRST_RECORD = 1
"""A journal numbers its records from here, without gaps."""


class Verdict(StrEnum):
    """What a batch is, seen from the mark."""

    accept = "accept"
    repeat = "repeat"
    gap = "gap"


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers of a batch, both ends included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first < FIRST_RECORD or self.last < self.first:
            raise ValueError(f"a batch from {self.first} to {self.last} is no span of records")


def judge_batch(next_record: int, span: Span) -> Verdict:
    """Say what becomes of a batch when the source's next expected record is `next_record`.

    A batch that begins below the mark is a repeat as a whole, also when its end is new: the reply names the mark, and
    the worker sends again from there. So a batch is stored entirely or not at all.
    """
    if span.first == next_record:
        return Verdict.accept
    return Verdict.repeat if span.first < next_record else Verdict.gap


def advance(next_record: int, span: Span) -> int:
    """Return the source's next expected record after the batch was judged."""
    return span.last + 1 if judge_batch(next_record, span) is Verdict.accept else next_record


def has_reached(next_record: int, record: int) -> bool:
    """Return whether everything up to and including `record` is committed."""
    return next_record > record
