"""What machines have cost is told apart without anything lost, added or borne by who held nothing."""

from datetime import date
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from services.gateway.machine_pools.cost_allocation import idle_usage, rented_of, sum_by, with_shares
from shared.ids import PoolName, TenantId
from shared.messages.machine_pools import Spending
from shared.messages.usage import SlotUsageRow

DAYS = st.sampled_from([date(2026, 11, day) for day in (1, 2)])
POOLS = st.sampled_from([PoolName("burst"), PoolName("night")])
TENANTS = [TenantId(UUID(int=number)) for number in range(3)]
HOURS = st.floats(0.001, 100)
SPENT = st.lists(
    st.builds(
        Spending, day=DAYS, pool=POOLS, kind=st.sampled_from("ab"), purchase=st.just("spot"), instances=st.just(1),
        hours=HOURS, slot_hours=HOURS, cost=st.floats(0, 1000),
    )
)  # fmt: skip
Holdings = dict[tuple[date, PoolName, TenantId], float]
USED = st.dictionaries(st.tuples(DAYS, POOLS, st.sampled_from(TENANTS)), st.floats(0, 200_000))


def whole(used: list[SlotUsageRow]) -> list[SlotUsageRow]:
    return sum_by(used, ["day", "pool"])


@given(SPENT, USED)
def test_the_parts_add_up_to_the_ledger(spent: list[Spending], held: Holdings) -> None:
    used = [SlotUsageRow(day=d, pool=p, tenant=t, slot_seconds=s) for (d, p, t), s in held.items()]
    rented = rented_of(spent, whole(used))
    parts = [*with_shares(rented, used), *idle_usage(rented)]
    assert sum(one.cost for one in parts) == pytest.approx(sum(row.cost for row in spent), abs=1e-6)
    assert all(one.cost >= 0 and one.slot_seconds >= 0 for one in parts)
    for one in sum_by(parts, ["pool"]):
        assert one.cost == pytest.approx(sum(row.cost for row in spent if row.pool == one.pool), abs=1e-6)


def test_a_slot_hour_costs_the_same_for_all_on_one_day() -> None:
    day, pool = date(2026, 11, 1), PoolName("burst")
    row = {"day": day, "pool": pool, "purchase": "spot", "instances": 1}
    small = Spending.model_validate(row | {"kind": "small", "hours": 2, "slot_hours": 2, "cost": 3})
    large = Spending.model_validate(row | {"kind": "large", "hours": 1, "slot_hours": 8, "cost": 7})
    used = [
        SlotUsageRow(day=day, pool=pool, tenant=one, slot_seconds=3600 * hours)
        for one, hours in zip(TENANTS, (1, 4), strict=False)
    ]
    rented = rented_of([small, large], whole(used))
    assert [one.cost for one in with_shares(rented, used)] == [1.0, 4.0]
    assert [(one.slot_seconds, one.cost) for one in idle_usage(rented)] == [(5 * 3600.0, 5.0)]
    elsewhere = SlotUsageRow(day=day, pool=PoolName("rack"), tenant=TENANTS[0], slot_seconds=60)
    assert not with_shares(rented, [elsewhere]), "nothing is rented there"
