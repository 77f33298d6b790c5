"""What a script may log beside numbers: each input as its user has it, read back by a reader that is not ours."""

import errno
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from muster import wire
from muster._media import Content, histogram_of, image_of, table_of, text_of
from muster._trial.media import MediaSpoolWriter
from muster.errors import Rejected


def pixels(content: Content) -> Any:
    return np.asarray(Image.open(io.BytesIO(content.body)))


RGB = np.arange(8 * 6 * 3, dtype=np.uint8).reshape(8, 6, 3)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_an_array_is_a_png_with_its_pixels(channels: int) -> None:
    array = np.arange(5 * 7 * channels, dtype=np.uint8).reshape(5, 7, channels)
    content = image_of(array, "a caption")
    assert content.about == {"caption": "a caption", "width": 7, "height": 5}
    assert np.array_equal(pixels(content).reshape(5, 7, channels), array)


def test_images_are_taken_as_people_have_them(tmp_path: Path) -> None:
    floats = RGB.astype(np.float64) / 255
    jpeg = io.BytesIO()
    Image.fromarray(RGB).save(jpeg, "jpeg")
    (tmp_path / "one.jpg").write_bytes(jpeg.getvalue())
    for image in (
        RGB,
        floats,
        RGB.astype(np.int64),
        torch.from_numpy(RGB).permute(2, 0, 1),
        torch.from_numpy(floats).permute(2, 0, 1).requires_grad_(),
        torch.from_numpy(RGB),
        Image.fromarray(RGB),
    ):
        assert np.array_equal(pixels(image_of(image)), RGB)
    assert image_of(tmp_path / "one.jpg") == Content("image/jpeg", jpeg.getvalue())
    assert image_of(RGB, "from a file \udcff").about["caption"] == "from a file ?"
    assert np.array_equal(pixels(image_of(np.array([[True, False]]))), [[255, 0]])
    assert np.array_equal(pixels(image_of(np.array([[np.nan, np.inf, -3.0]]))), [[0, 255, 0]])
    assert pixels(image_of(torch.zeros(1, 3, 2, dtype=torch.bfloat16))).shape == (3, 2)


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (np.zeros((8, 3, 32, 32)), "image_shape"),
        (np.zeros((0, 3)), "image_shape"),
        (np.array([["a"]]), "image_invalid"),
        (object(), "image_invalid"),
        (b"GIF? no", "image_invalid"),
        (Path("/nowhere.png"), "image_unreadable"),
        (np.random.default_rng(0).integers(0, 255, (4096, 2048, 3), dtype=np.uint8), "media_too_large"),
    ],
)
def test_what_is_no_image_is_refused_by_name(image: object, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        image_of(image)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "table",
    [
        {"columns": ["a", "b"], "data": [[1, "x"], [float("nan"), None]]},
        {"data": {"a": [1, np.float32("nan")], "b": ["x", None]}},
        {"data": [{"a": np.int64(1), "b": "x"}, {"a": torch.tensor(float("nan"))}]},
    ],
)
def test_a_table_is_read_from_rows_columns_and_mappings(table: dict[str, Any]) -> None:
    content = table_of(table["data"], table.get("columns"))
    assert json.loads(content.body) == {"columns": ["a", "b"], "rows": [[1, "x"], ["nan", None]]}
    assert content.about == {"columns": 2, "rows": 2}


@pytest.mark.parametrize(
    ("table", "columns", "code"),
    [
        ([[1, 2], [3]], ["a", "b"], "table_ragged"),
        ({"a": [1], "b": []}, None, "table_ragged"),
        ([[1]], None, "table_columns"),
        ("text", None, "table_invalid"),
        ([1, 2], ["a"], "table_invalid"),
        ({"a": [0] * 100_001}, None, "table_too_large"),
    ],
)
def test_what_is_no_table_is_refused_by_name(table: object, columns: list[str] | None, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        table_of(table, columns)
    assert refused.value.code == code


def test_a_histogram_is_the_same_whatever_holds_the_numbers() -> None:
    numbers = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    found = [
        json.loads(histogram_of(values, bins=10).body)
        for values in (numbers, numbers.tolist(), torch.from_numpy(numbers).reshape(10, 100))
    ]
    counts, edges = np.histogram(numbers.astype(np.float64), 10)
    for one in found:
        assert one["counts"] == counts.tolist()
        assert one["least"] == pytest.approx(edges[0]) and one["greatest"] == pytest.approx(edges[-1])
        assert one["sum"] == pytest.approx(numbers.sum(), rel=1e-3)
        assert one["sum_squares"] == pytest.approx(np.square(numbers).sum(), rel=1e-3)
    taken = json.loads(histogram_of((counts, edges)).body)
    assert (taken["counts"], taken["edges"]) == (counts.tolist(), pytest.approx(edges.tolist()))


@pytest.mark.parametrize("make", [np.array, torch.tensor, list])
def test_a_histogram_counts_apart_what_is_not_finite(make: Any) -> None:
    found = json.loads(histogram_of(make([1.0, 1.0, float("nan"), float("inf")])).body)
    assert (found["counts"], found["least"], found["others"]) == ([2], 1.0, 2)
    nothing = json.loads(histogram_of(make([float("nan")])).body)
    assert (nothing["counts"], nothing["others"]) == ([0], 1)
    huge = json.loads(histogram_of(make([-1.7e308, 1.7e308])).body)
    assert sum(huge["counts"]) + huge["others"] == 2


@pytest.mark.parametrize(
    ("numbers", "bins"),
    [
        ([0.3, 0.1 + 0.2], 64),
        ([1.0, 1.0 + 2**-52], 100),
        ([0.0, 5e-324], 64),
        ([1e154] * 4 + [1.0], 64),
        ([1.7e308, 1.7e308], 64),
        ([-1.7e308, 0.8e308], 64),
    ],
)
@pytest.mark.parametrize("make", [np.array, list])
def test_a_histogram_bears_values_that_lie_too_near_or_too_far(
    numbers: list[float], bins: int, make: Any
) -> None:
    """Weights that are equal but for their last bit, or a training that diverges: logging it ends nothing."""
    found = json.loads(histogram_of(make(numbers), bins).body)
    assert sum(found["counts"]) == len(numbers)
    assert (found["least"], found["greatest"]) == pytest.approx((min(numbers), max(numbers)))


def test_what_is_no_histogram_is_refused_by_name() -> None:
    for values, bins, code in (
        (["a"], 4, "histogram_invalid"),
        (3, 4, "histogram_invalid"),
        ([1.0], 0, "bins_invalid"),
        (([1, 2], [3.0, 2.0, 1.0]), 4, "bins_invalid"),
    ):
        with pytest.raises(Rejected) as refused:
            histogram_of(values, bins)
        assert refused.value.code == code


def description(media: str) -> wire.TrialFile:
    """A trial's; without a spool it is a script that is run by hand."""
    socket = "somewhere" if media else ""
    return wire.TrialFile(socket, size=1, hparams={}, seed=0, checkpoints="", media=media)


def spooled(folder: Path) -> list[tuple[wire.MediaHead, bytes]]:
    found = []
    for path in sorted(folder.iterdir()):
        file = os.open(path, os.O_RDONLY)
        for one in wire.read_spool(file, 0, os.fstat(file).st_size):
            found.append((one.head, os.pread(file, one.head.size_bytes, one.start)))
        os.close(file)
    return found


def test_what_was_logged_is_in_the_spool_when_the_call_returns(tmp_path: Path) -> None:
    media = MediaSpoolWriter(description(str(tmp_path)))
    media.add("text", 3, "notes", "training", text_of("first ö"))
    media.add("text", 4, "notes", "evaluation", text_of(""))
    [file] = tmp_path.iterdir()
    with file.open("ab") as torn:
        torn.write(b"\x00\x00\x00\x10half of a head")
    (first, body), (second, nothing) = spooled(tmp_path)
    assert (first.kind, first.group, first.name, first.step, body.decode()) == (
        "text",
        "training",
        "notes",
        3,
        "first ö",
    )
    assert (second.group, second.step, nothing) == ("evaluation", 4, b"")


def test_where_the_worker_makes_the_file_of_it_an_image_waits_as_pixels(tmp_path: Path) -> None:
    content = image_of(RGB, "a caption", as_pixels=True)
    assert content.body == RGB.tobytes()
    head = wire.MediaHead("image", "g", "n", 1, 1, content.content_type, len(content.body), content.about)
    made, body = wire.encoded(head, content.body)
    assert (Content(made.content_type, body, made.about), made.size_bytes) == (
        image_of(RGB, "a caption"),
        len(body),
    )
    wrongs: tuple[dict[str, wire.Json], ...] = (
        {},
        {"width": 6, "height": 8, "channels": 4},
        {"width": True, "height": 48, "channels": 3},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match="not an image"):
            wire.encoded(replace(head, about=wrong), content.body)
    large = np.zeros((3000, 3000), np.uint8)
    assert image_of(large, as_pixels=True).content_type == "image/png", "what waits is bounded"
    assert image_of(Image.fromarray(RGB), as_pixels=True).content_type == "image/png"


def test_a_spool_that_is_full_drops_with_a_warning_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wire, "SPOOL_FILE_BYTES", 500)
    monkeypatch.setattr(wire, "SPOOL_BYTES", 1500)
    monkeypatch.setattr("muster._trial.media.FULL_AGAIN_S", 0.0)
    media = MediaSpoolWriter(description(str(tmp_path)))
    for step in range(10):
        media.add("text", step, "long", "training", text_of("x" * 400))
    kept = len(spooled(tmp_path))
    assert 1 <= kept < 5 and "logged media was dropped" in capfd.readouterr().err
    for path in sorted(tmp_path.iterdir())[:-1]:
        path.unlink()
    media.add("text", 99, "long", "training", text_of("x" * 400))
    assert spooled(tmp_path)[-1][0].step == 99


def test_a_spool_file_that_cannot_be_opened_writes_into_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of the closed one is soon that of a file of the script's own."""
    monkeypatch.setattr(wire, "SPOOL_FILE_BYTES", 500)
    monkeypatch.setattr("muster._trial.media.FULL_AGAIN_S", 0.0)
    (tmp_path / "spool").mkdir()
    media = MediaSpoolWriter(description(str(tmp_path / "spool")))
    media.add("text", 1, "long", "training", text_of("x" * 300))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _no_more_files)
        media.add("text", 2, "long", "training", text_of("x" * 300))
    with (tmp_path / "own").open("wb") as own:
        media.add("text", 3, "short", "training", text_of("x"))
        assert os.fstat(own.fileno()).st_size == 0
    assert [head.step for head, _ in spooled(tmp_path / "spool")] == [1, 3]


def _no_more_files(*asked: object) -> int:
    raise OSError(errno.EMFILE, "too many open files")


def test_a_file_that_the_worker_deletes_meanwhile_drops_nothing(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "deleted")
    media = MediaSpoolWriter(description(str(tmp_path)))
    media.add("text", 1, "notes", "training", text_of("a"))
    assert [path.suffix for path in tmp_path.iterdir() if not path.is_symlink()] == [wire.SPOOL_SUFFIX]


def test_names_that_cannot_be_shown_are_refused(tmp_path: Path) -> None:
    media = MediaSpoolWriter(description(str(tmp_path)))
    for name in ("", " ", "a\nb", "x" * 257, 7):
        with pytest.raises(Rejected) as refused:
            media.add("text", 1, name, "training", text_of("a"))  # type: ignore[arg-type]
        assert refused.value.code == "media_name"


def test_without_a_platform_media_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MediaSpoolWriter(description("")).add("image", 3, "some/../name", "training", image_of(RGB))
    assert [path.name for path in (tmp_path / "media/training").iterdir()] == ["some_.._name-3.png"]
