"""What machines are labelled with: told, shown, and known to the next leader; and where requests go by it."""

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT, SITE, new_id
from shared.messages.pools import EditPool, GetCluster
from shared.messages.queue import Explain, Placeable, ValidatePlacement
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.trial_specs import PolicyMatch
from shared.messages.workers import WorkerJoined, WorkerView
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.policies import plain_rules
from tests.support.waiting import eventually


async def view_of(around: Platform, worker: str) -> WorkerView | None:
    found = await around.insist(GetCluster())
    return next((one for one in found.workers if one.worker == worker), None)


async def test_labels_are_told_and_outlive_their_leader(around: Platform) -> None:
    labels = {"rack": "r7", "zone": "a"}
    async with around.scheduler(), around.worker("lab1", labels=labels | {"bad key": "\0"}):
        await eventually(lambda: [one.labels for one in around.told(WorkerJoined)] == [labels])
    # The worker is silent from here on: the next leader has only what the tables say.
    async with around.scheduler():

        async def is_known() -> bool:
            view = await view_of(around, "lab1")
            return view is not None and view.labels == labels

        await eventually(is_known)


async def validate(around: Platform, **where: object) -> Placeable:
    query = ValidatePlacement(pool=POOL, min_slots=1, max_slots=1, **where)
    answer: Placeable = await around.ask(query, DEFAULT_TENANT)
    return answer


async def test_a_request_goes_where_its_labels_say(around: Platform) -> None:
    async with (
        around.scheduler(),
        around.worker("p1", labels={"rack": "r1"}),
        around.worker("p2", labels={"rack": "r2"}) as other,
    ):
        await eventually(lambda: len({one.worker for one in around.told(WorkerJoined)} & {"p1", "p2"}) == 2)
        required, waiting, shunning = new_trial(), new_trial(), new_trial()
        await around.want(required, required_labels={"rack": "r2"})
        assert (await around.heard(RunGranted, required)).members[0].worker == "p2"
        await around.want(waiting, required_labels={"rack": "r2"})

        async def is_told() -> bool:
            told = await around.ask(Explain(trial_id=waiting), DEFAULT_TENANT)
            return "on machines with rack=r2" in told.message

        await eventually(is_told)
        await around.want(shunning, excluded_workers=("p2",))
        assert (await around.heard(RunGranted, shunning)).members[0].worker == "p1"
        await other.exit(required)
        assert (await around.heard(RunGranted, waiting)).members[0].worker == "p2"

        with pytest.raises(Rejected, match="pool default has no machine with rack=r9"):
            await validate(around, required_labels={"rack": "r9"})
        assert not (await validate(around, required_labels={"rack": "r1"})).warnings
        (warning,) = (await validate(around, excluded_workers=("p9",))).warnings
        assert "worker p9" in warning


async def test_a_gang_stays_in_one_rack_once_the_pool_knows_racks(around: Platform) -> None:
    racks = {"g1": "k1", "g2": "k2", "g3": "k2", "g4": "k3"}
    async with (
        around.scheduler(),
        around.worker("g1", labels={"rack": racks["g1"]}),
        around.worker("g2", labels={"rack": racks["g2"]}) as chief,
        around.worker("g3", labels={"rack": racks["g3"]}) as member,
        around.worker("g4", labels={"rack": racks["g4"]}),
    ):
        await eventually(lambda: {one.worker for one in around.told(WorkerJoined)} >= racks.keys())
        rules = plain_rules(topology=("rack",), placement="spread")
        await around.tell(EditPool(operation_id=new_id(CLOCK), pool=POOL, rules=rules), SITE)

        async def is_ruled() -> bool:
            found = await around.insist(GetCluster())
            return bool(found.pools[0].rules == rules)

        await eventually(is_ruled)
        gang = new_trial()
        await around.want(gang, slots=2)
        granted = await around.heard(RunGranted, gang)
        assert {one.worker for one in granted.members} == {"g2", "g3"}
        for worker in (chief, member):
            await worker.exit(gang)


async def test_a_machine_that_a_log_policy_excludes_stays_so_under_the_next_leader(around: Platform) -> None:
    trial = new_trial()
    met = (PolicyMatch(name="ECC Error", action="exclude_node"),)
    async with around.scheduler(), around.worker("e1", slots=4) as first:
        await around.want(trial)
        assert (await around.heard(RunGranted, trial)).members[0].worker == "e1"
        await eventually(lambda: trial in first.running)
        await first.exit(trial, exit_code=1, fault="user", policies=met)
        ended = await around.heard(RunEnded, trial)
        assert (ended.labels, ended.next) == (("ECC Error",), "requeued")
    async with around.scheduler(), around.worker("e1", slots=4):

        async def is_told() -> bool:
            told = await around.insist(Explain(trial_id=trial), DEFAULT_TENANT)
            return "its lack of an image, exclude e1" in told.message

        await eventually(is_told)
        async with around.worker("e2", slots=4):
            assert (await around.heard(RunGranted, trial, 2)).members[0].worker == "e2"
