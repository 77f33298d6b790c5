"""What the searcher does by the clock."""

from collections.abc import Callable
from uuid import uuid4

from shared.ids import RunId
from tests.integration.searcher.neighbours import (
    Neighbours,
    closed,
    run_ended,
    run_granted,
    searcher,
    validation,
)
from tests.integration.searcher.searches import document, wishes
from tests.support.waiting import eventually


async def test_a_trial_whose_machine_died_after_its_exit_is_given_up_with_the_reason(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    hurried = {"MUSTER_SEARCHER__SETTLE_AFTER_S": "0.5", "MUSTER_SEARCHER__SETTLE_EVERY_S": "0.2"}
    async with searcher(settings("searcher") | hurried):
        experiment = await neighbours.submit(document({"name": "random", "max_trials": 1}))
        wish = (await wishes(neighbours, experiment, 1))[0]
        granted = run_granted(wish, RunId(uuid4()))
        await neighbours.publish(granted)
        await neighbours.publish(validation(wish, granted.run_id, 1, 1, 0.5))
        await neighbours.publish(run_ended(granted, 7))
        await neighbours.publish(closed(wish, "completed"))
        over = await neighbours.wait_state(experiment, "completed")
        assert over.best is not None
        await eventually(lambda: neighbours.heard.trials(experiment)[1].final)
        trial = neighbours.heard.trials(experiment)[1]
        assert trial.state == "completed"
        assert "stored" in (trial.reason or "")
