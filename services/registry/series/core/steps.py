"""Stretches of steps: what is read together of a metric that has too many points."""

from collections.abc import Iterable

Steps = tuple[int, int]
"""The first and the last of a stretch."""
EVERY_STEP: Steps = (-(2**63), 2**63 - 1)


def part_steps(chunks: Iterable[tuple[int, int]], most: int) -> list[Steps]:
    """Part all steps where chunks with about `most` points have begun since the part before.

    A step is never parted, so what of a step counts is decided within one stretch. Chunks that overlap, and many points at one step, make
    stretches longer.

    Args:
        chunks: First step and count of each, by first step.
    """
    first, last = EVERY_STEP
    found, held = list[Steps](), 0
    for begins, count in chunks:
        if held and held + count > most and begins > first:
            found.append((first, begins - 1))
            first, held = begins, 0
        held += count
    return [*found, (first, last)]
