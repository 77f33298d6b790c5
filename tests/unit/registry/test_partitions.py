"""Daily partitions: always there before they are needed, gone when old."""

from datetime import date, timedelta

from hypothesis import given, strategies as st

from shared.database.partitions import PartitionPlan, partition_day, partition_name, plan_partitions

TODAY = date(2026, 3, 1)


def test_a_first_start_makes_yesterday_to_three_days_ahead() -> None:
    assert plan_partitions([], TODAY, None).make == (
        date(2026, 2, 28),
        date(2026, 3, 1),
        date(2026, 3, 2),
        date(2026, 3, 3),
        date(2026, 3, 4),
    )


def test_a_whole_day_goes_when_it_is_older_than_what_is_kept() -> None:
    existing = [TODAY - timedelta(days=age) for age in (9, 8, 7, 6)]
    assert plan_partitions(existing, TODAY, timedelta(days=7)).drop == (
        date(2026, 2, 20),
        date(2026, 2, 21),
    )
    assert plan_partitions(existing, TODAY, None).drop == ()


@given(st.sets(st.integers(-30, 10)), st.none() | st.integers(0, 20))
def test_a_plan_once_carried_out_leaves_nothing_to_do(ages: set[int], keep_days: int | None) -> None:
    keep = None if keep_days is None else timedelta(days=keep_days)
    existing = {TODAY + timedelta(days=age) for age in ages}
    plan = plan_partitions(existing, TODAY, keep)
    after = (existing | set(plan.make)) - set(plan.drop)
    assert TODAY in after
    assert not set(plan.make) & set(plan.drop)
    assert plan_partitions(after, TODAY, keep) == PartitionPlan()


def test_names_and_days_belong_together() -> None:
    assert partition_day("points", partition_name("points", TODAY)) == TODAY
    assert partition_day("points", "logs_p20260301") is None
    assert partition_day("points", "points_pfoo") is None
