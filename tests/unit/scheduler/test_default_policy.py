"""What a pool does that nobody has configured: tenants, users and experiments share it, long runs take turns, elastic runs shrink."""

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from services.scheduler.service import default_policy
from services.scheduler.settings import PoolSection
from services.scheduler.store.pool_rules import rules_of, with_rules
from shared.messages.pools import PoolRules
from simulator.files.reading import read_policy
from simulator.files.schema import Cluster, MachineGroup
from simulator.policies import policy_of
from tests.unit.scheduler.test_time_slicing import Slicing
from tests.unit.scheduler.world import POOL, World, trial_id

DEFAULT = PoolPolicy(POOL)
MINUTES = 6
"""So many steps of 10 s."""


def full(*owners: str, slots: int = 1) -> Slicing:
    """A machine whose slots are all held, from number 1 on by an experiment of each of these users."""
    world = World(DEFAULT)
    world.worker("a", slots * len(owners))
    for number, owner in enumerate(owners, start=1):
        world.want(number, slots, experiment=number, owner=owner)
    world.cycle()
    assert world.running() == set(range(1, len(owners) + 1))
    return Slicing(world)


def test_a_pool_has_one_default_wherever_it_is_written() -> None:
    machines = Cluster(machines=(MachineGroup(slots=1),))
    assert rules_of(DEFAULT) == PoolRules()
    assert with_rules(DEFAULT, PoolRules()) == DEFAULT
    assert default_policy(PoolSection()) == DEFAULT
    assert policy_of(read_policy("default"), machines, POOL) == DEFAULT
    plain = PoolSection.model_validate({"order": "priority", "quantum_s": "none"})
    assert default_policy(plain).quantum is None, "as an environment says it"
    assert DEFAULT.order == "fair_share"
    assert DEFAULT.preemption
    assert DEFAULT.elastic
    assert DEFAULT.quantum is not None


def test_a_user_who_comes_late_starts_within_a_quantum_however_long_the_queue_of_another() -> None:
    slicing = full("ada", "ada", "ada", "ada")
    for number in range(5, 25):
        slicing.world.want(number, experiment=1, owner="ada")
    slicing.world.want(25, experiment=25, owner="ben")
    list(slicing.steps(10 * MINUTES + 3))
    assert 25 in slicing.world.running()
    assert slicing.world.running() & {1, 2, 3, 4}, "nobody takes all from those who were there"


def test_a_small_job_does_not_wait_behind_a_large_one_for_hours() -> None:
    slicing = full("ada", slots=4)
    slicing.world.want(2, 4, experiment=2, owner="ada")
    slicing.world.want(3, 1, experiment=3, owner="ben")
    list(slicing.steps(10 * MINUTES + 3))
    assert 3 in slicing.world.running()


def test_a_run_of_some_seconds_or_minutes_is_never_interrupted() -> None:
    slicing = full("ada")
    slicing.world.want(2, experiment=2, owner="ben")
    list(slicing.steps(10 * MINUTES - 1))
    assert not slicing.asked


def test_a_run_that_has_saved_nothing_keeps_its_slots_and_one_that_has_yields_first() -> None:
    slicing = full("ada", "ada")
    slicing.unsaved = frozenset({1, 2})
    slicing.world.want(3, experiment=3, owner="ben")
    list(slicing.steps(60 * MINUTES))
    assert not slicing.asked
    assert slicing.world.running() == {1, 2}
    slicing.unsaved = frozenset({1})
    list(slicing.steps(3))
    assert slicing.world.running() == {1, 3}


def test_users_priorities_order_their_own_experiments_only() -> None:
    slicing = full("ada")
    world = slicing.world
    for number, owner, priority in ((2, "ada", 42), (3, "ada", 1), (4, "ben", 99)):
        world.want(number, experiment=number, owner=owner)
        world.set_policy(number, priority=priority)
    list(slicing.steps(10 * MINUTES + 3))
    assert world.running() == {4}, "ben has had nothing yet: ada's priorities are no matter of his"
    list(slicing.steps(10 * MINUTES + 3))
    assert world.running() == {3}
    list(slicing.steps(30 * MINUTES))
    assert {1, 2} & {run.trial.int - 1000 for run, _ in slicing.asked[2:]} == set()


def test_a_more_important_experiment_takes_turns_from_ones_own_less_important_and_never_yields_to_it() -> (
    None
):
    slicing = full("ada")
    slicing.world.want(2, experiment=2, owner="ada")
    slicing.world.set_policy(2, priority=10)
    list(slicing.steps(10 * MINUTES + 3))
    assert slicing.world.running() == {2}
    list(slicing.steps(60 * MINUTES))
    assert slicing.world.running() == {2}


def test_an_elastic_run_takes_idle_slots_and_shrinks_for_others_at_once() -> None:
    world = World(DEFAULT)
    world.worker("a", 2)
    world.want(1, experiment=1, owner="ada", needs=SlotNeeds(1, 2))
    world.cycle()
    assert world.placement(1) == {"a": 2}
    world.want(2, experiment=2, owner="ben")
    world.cycle()
    asked = world.run(1).asked
    assert asked
    assert (asked.because, asked.slots) == ("resize", 1)


def test_who_waits_is_told_of_turns_and_of_runs_that_have_saved_nothing() -> None:
    slicing = full("ada")
    slicing.unsaved = frozenset({1})
    slicing.world.want(2, experiment=2, owner="ben")
    list(slicing.steps(11 * MINUTES))
    told = explain(slicing.world.cluster, slicing.world.cluster.trials[trial_id(2)])
    assert "after 600 s and a first checkpoint" in told.message
