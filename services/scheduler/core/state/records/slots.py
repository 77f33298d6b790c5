"""Exact slot counts: whole slots are ints, a fraction of a slot is a Fraction, and sums may mix both.

Messages (`part`), tables and placements (`fraction`) keep the fraction in thousandths beside a whole number;
0: whole slots.
Only this module converts it.
"""

from decimal import Decimal
from fractions import Fraction

from shared.messages.trial_specs import WHOLE_SLOT, Thousandths

SlotCount = int | Fraction


def count_of(slots: int, fraction: Thousandths) -> SlotCount:
    """Return the count of whole slots, or of a fraction of one."""
    return Fraction(fraction, WHOLE_SLOT) if fraction else slots


def stored(slots: SlotCount) -> int | float:
    """Return the count for tables and users; thousandths are exact in decimals."""
    return int(slots) if slots == int(slots) else float(slots)


def count_from(number: Decimal) -> SlotCount:
    """The inverse of `stored`."""
    return int(number) if number == int(number) else Fraction(number)
