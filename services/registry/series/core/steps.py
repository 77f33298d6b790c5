"""Ranges of steps, for reading a metric with many points in pieces."""

from collections.abc import Iterable

Steps = tuple[int, int]
"""First and last step of a range."""
EVERY_STEP: Steps = (-(2**63), 2**63 - 1)


def part_steps(chunks: Iterable[tuple[int, int]], most: int) -> list[Steps]:
    """Split all steps into ranges with about `most` points each, at the starts of chunks.

    A step is never split, so what counts of it is decided within one range. Overlapping chunks and many points at one step make ranges
    longer.

    Args:
        chunks: First step and count of each, by first step.
    """
    first, last = EVERY_STEP
    found, held = list[Steps](), 0
    for start, count in chunks:
        if held and held + count > most and start > first:
            found.append((first, start - 1))
            first, held = start, 0
        held += count
    return [*found, (first, last)]
