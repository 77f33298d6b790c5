"""Numbers of slots, exact: whole ones are ints, a part of one is a fraction, and their sums mix.

Messages, tables and places keep a part in thousandths beside a whole number (`part`; 0: whole slots). It becomes a fraction here alone.
"""

from decimal import Decimal
from fractions import Fraction

from shared.messages.specs import WHOLE_SLOT, Thousandths

SlotCount = int | Fraction


def count_of(slots: int, part: Thousandths) -> SlotCount:
    """What so many slots, or a part of one, count for."""
    return Fraction(part, WHOLE_SLOT) if part else slots


def stored(slots: SlotCount) -> int | float:
    """As tables and people have it: thousandths are exact in decimals."""
    return int(slots) if slots == int(slots) else float(slots)


def count_from(number: Decimal) -> SlotCount:
    """The other way round."""
    return int(number) if number == int(number) else Fraction(number)
