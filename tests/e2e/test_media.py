"""The example that logs images, tables, texts, histograms and event files, from its script to what people see."""

from pathlib import Path

import pytest

from tests.e2e.platform import ROOT, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLE = ROOT / "examples/media"
EPOCHS = 3
KINDS = {
    ("histogram", "1.weight"),
    ("histogram", "1.bias"),
    ("image", "first"),
    ("table", "wrong"),
    ("text", "summary"),
}


def test_what_the_example_logs_is_listed_fetched_and_shown_in_tensorboard(
    platform: Platform, tmp_path: Path
) -> None:
    media = platform.client.media
    ended = platform.completed(
        platform.client.experiments.create((EXAMPLE / "config.yaml").read_text(), EXAMPLE)
    )
    trial = f"{ended.number}.1"
    # They come beside what ends an experiment, the last ones perhaps later.
    platform.until(
        lambda: (
            {
                (one.kind.value, one.name): (one.count, one.first_step, one.last_step)
                for one in media.names(trial)
                if one.kind.value != "events"
            }
            == dict.fromkeys(KINDS, (EPOCHS, 1, EPOCHS))
        )
    )
    platform.until(
        lambda: b"loss" in b"".join(piece for _, piece in media.read(media.list(trial, kinds=["events"])))
    )
    assert sum(one.kind.value == "events" for one in media.names(trial)) == 1

    listed = platform.muster("trial", "media", "list", trial, "--kind", "image", "--from-step", "2")
    assert listed.code == 0 and listed.out.count("predicted") == 2, listed.err
    fetched = platform.muster("trial", "media", "download", trial, str(tmp_path / "media"))
    assert fetched.code == 0, fetched.err
    files = {path.relative_to(tmp_path / "media").as_posix() for path in (tmp_path / "media").rglob("*.*")}
    assert {f"image/training/first/{step}.png" for step in (1, 2, 3)} <= files
    assert "**" in (tmp_path / "media/text/training/summary/3.txt").read_text()

    logdir = tmp_path / "logdir"
    shown = platform.muster("tensorboard", str(ended.number), "--logdir", str(logdir), "--once")
    assert shown.code == 0, shown.err
    [ours] = (logdir / trial).glob("*tfevents*")
    [theirs] = (logdir / trial / "events").glob("*tfevents*")
    assert {"training/first", "training/1.weight", "validation/accuracy"} <= tags(ours)
    assert "loss" in tags(theirs)


def tags(file: Path) -> set[str]:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    return {value.tag for event in EventFileLoader(str(file)).Load() for value in event.summary.value}
