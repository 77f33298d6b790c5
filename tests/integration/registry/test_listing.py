"""Checkpoints are listed in pages, and links to their files come in pages."""

import pytest

from muster.errors import Rejected
from shared.ids import CheckpointId, new_id
from shared.messages.checkpoints import GetCheckpointFiles, ListCheckpoints
from shared.messages.files import FileEntry
from shared.objects import LEAST_PART_BYTES
from tests.integration.registry.messages import validation
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK
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
    newest = ListCheckpoints(trial_id=run.trial, limit=1, filter="state = saved and step > 10", sort="-step")
    first = await around.ask(newest)
    rest = await around.ask(newest.model_copy(update={"after": first.next}))
    assert [one.step for one in (*first.checkpoints, *rest.checkpoints)] == [30, 20] and rest.next is None
    with pytest.raises(Rejected, match="'state' cannot be 'lost'"):
        await around.ask(ListCheckpoints(trial_id=run.trial, filter="state = lost"))
    links = await around.ask(GetCheckpointFiles(checkpoint_id=saved[0]))
    assert {link.path: await fetch(link.url) for link in links.files} == FILES


async def test_a_page_of_checkpoints_ends_where_an_answer_is_full(around: Platform) -> None:
    run = around.scheduler.grant()
    saved = [await save(around, run, number, number) for number in range(1, 19)]
    note = "UPDATE registry.checkpoint SET metadata = jsonb_build_object('note', repeat('x', 60000)) WHERE trial = $1"
    await around.rows(note, run.trial)
    page = await around.ask(ListCheckpoints(trial_id=run.trial))
    found = [one.checkpoint_id for one in page.checkpoints]
    while page.next is not None:
        page = await around.ask(ListCheckpoints(trial_id=run.trial, after=page.next))
        found += [one.checkpoint_id for one in page.checkpoints]
    assert found == saved


async def test_a_checkpoint_whose_links_no_answer_holds_is_sent_page_by_page(around: Platform) -> None:
    run, checkpoint = around.scheduler.grant(), CheckpointId(new_id(CLOCK))
    paths = [f"{'deep/' * 120}{number}" for number in range(600)]
    files = [FileEntry(path=path, size_bytes=9, sha256=f"{place:064x}") for place, path in enumerate(paths)]
    large = FileEntry(path="large", size_bytes=900 * LEAST_PART_BYTES, sha256="f" * 64)
    links = await around.upload(run, checkpoint, 1, 10, [*files, large])
    assert [link.path for link in links.files if link.path != "large"] == paths
    parts = [part for link in links.files if link.path == "large" for part in link.parts]
    assert sum(part.size_bytes for part in parts) == large.size_bytes
    assert [part.first for part in parts[1:]] == [part.first + part.size_bytes for part in parts[:-1]]
