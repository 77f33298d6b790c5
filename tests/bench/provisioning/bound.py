"""What nobody can go below: a linear program that knows every arrival, length, price and shortage beforehand.

Of each trial, work is laid into cells of 10 minutes, at most as much as its slots do in one. Nineteen of twenty trials are done within their own length
and 10 minutes after they arrived, as a 95th percentile of the time lost of 10 minutes asks; the rest at any time until the end. A cell costs what the
cheapest slot costs in it at its cheapest moment, of machines that can hold the trial at all and are to be had in it. Machines are divided
at will, boot at once, and are never taken: every policy that meets the percentile pays at least this.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog  # type: ignore[import-untyped]
from scipy.sparse import coo_matrix  # type: ignore[import-untyped]

from simulator.trials import WorkloadTrial
from tests.bench.provisioning.market import HOUR_MS, STEP_MS, Market
from tests.bench.provisioning.workload import work_ms

CELL_MS = 2 * STEP_MS
LOST_MS = 600_000
LATE_SHARE = 0.05


def least_cost(items: Sequence[WorkloadTrial], market: Market) -> float:
    """In money, by HiGHS."""
    cells = market.until_ms // CELL_MS
    prices = {slots: _prices(market, slots, cells) for slots in {item.max_slots for item in items}}
    costs: list[float] = []
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    bounds: list[tuple[float, float]] = []
    needs: list[float] = []
    late = _Late()
    for number, item in enumerate(items):
        price, work_h = prices[item.max_slots], work_ms(item) / HOUR_MS * item.max_slots
        whole_h = CELL_MS / HOUR_MS * item.max_slots
        first = item.arrives_ms // CELL_MS
        last = min(cells, -(-(item.arrives_ms + work_ms(item) + LOST_MS) // CELL_MS))
        for cell in range(first, last):
            rows.append(number)
            columns.append(len(costs))
            values.append(1.0)
            costs.append(float(price[cell]))
            bounds.append((0.0, whole_h))
        # The share of it that is done whenever it is cheapest: only so many trials may be late, or parts of so many.
        rows.append(number)
        columns.append(len(costs))
        values.append(1.0)
        late.add(len(costs), work_h)
        costs.append(float(price[first:].min()))
        bounds.append((0.0, work_h))
        needs.append(work_h)
    matrix = coo_matrix((values, (rows, columns)), shape=(len(items), len(costs)))
    found = linprog(
        costs,
        A_ub=late.row(len(costs)),
        b_ub=[LATE_SHARE * len(items)],
        A_eq=matrix,
        b_eq=needs,
        bounds=bounds,
    )
    assert found.success, found.message
    return float(found.fun)


class _Late:
    """How many trials are late, in shares of their work."""

    def __init__(self) -> None:
        self._columns: list[int] = []
        self._shares: list[float] = []

    def add(self, column: int, work_h: float) -> None:
        self._columns.append(column)
        self._shares.append(1.0 / work_h)

    def row(self, width: int) -> coo_matrix:
        return coo_matrix((self._shares, ([0] * len(self._columns), self._columns)), shape=(1, width))


def _prices(market: Market, slots: int, cells: int) -> npt.NDArray[np.float64]:
    """Of a slot for an hour in each cell."""
    offers = [offer for offer in market.offers if offer.kind.slots >= slots]
    steps = CELL_MS // STEP_MS
    found = np.full(cells, np.inf)
    for cell in range(cells):
        for step in range(steps):
            at = cell * CELL_MS + step * STEP_MS
            for offer in offers:
                opens = not market.is_short(offer, at) or market.opens_within(offer, at, STEP_MS)
                if opens:
                    found[cell] = min(found[cell], market.price(offer, at) / offer.kind.slots)
    return found
