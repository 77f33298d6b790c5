"""Checkpoints are listed in pages."""

import pytest

from shared.messages.checkpoints import GetCheckpointFiles, ListCheckpoints
from tests.integration.registry.messages import validation
from tests.integration.registry.platform import Platform
from tests.integration.registry.uploads import FILES, fetch, save

pytestmark = pytest.mark.usefixtures("registry")


async def test_checkpoints_are_listed_with_their_metrics_in_pages(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [validation(n, n * 10, loss=1.0 / n) for n in (1, 2, 3)])
    saved = [await save(around, run, n, n * 10) for n in (1, 2, 3)]
    page = await around.ask(ListCheckpoints(trial_id=run.trial, limit=2))
    assert [(one.checkpoint_id, one.metrics, one.state) for one in page.checkpoints] == [
        (saved[0], {"loss": 1.0}, "saved"),
        (saved[1], {"loss": 0.5}, "saved"),
    ]
    last = await around.ask(ListCheckpoints(trial_id=run.trial, limit=2, after=page.next))
    assert [one.checkpoint_id for one in last.checkpoints] == [saved[2]]
    assert last.next is None
    links = await around.ask(GetCheckpointFiles(checkpoint_id=saved[0]))
    assert {link.path: await fetch(link.url) for link in links.files} == FILES


async def test_a_page_of_checkpoints_ends_where_an_answer_is_full(around: Platform) -> None:
    run = around.scheduler.grant()
    saved = [await save(around, run, number, number) for number in range(1, 19)]
    note = "UPDATE registry.checkpoints SET metadata = jsonb_build_object('note', repeat('x', 60000)) WHERE trial = $1"
    await around.rows(note, run.trial)
    page = await around.ask(ListCheckpoints(trial_id=run.trial))
    found = [one.checkpoint_id for one in page.checkpoints]
    while page.next is not None:
        page = await around.ask(ListCheckpoints(trial_id=run.trial, after=page.next))
        found += [one.checkpoint_id for one in page.checkpoints]
    assert found == saved
