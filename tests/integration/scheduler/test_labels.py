"""What machines are labelled with: told, shown, and known to the next leader."""

from shared.messages.pools import GetCluster
from shared.messages.workers import WorkerJoined, WorkerView
from tests.integration.scheduler.platform import Platform
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
