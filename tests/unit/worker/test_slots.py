"""What nvidia-smi lists, and what of it this worker may give."""

import pytest

from worker.machine.slots import read_gpus

LISTING = """0, GPU-aaa, NVIDIA H200, 143771
1, GPU-bbb, NVIDIA H200, 143771
2, GPU-ccc, NVIDIA H200, [N/A]
not a line
"""


@pytest.mark.parametrize(
    ("visible", "ids"),
    [(None, [0, 1, 2]), ("1", [1]), ("2,0", [2, 0]), ("GPU-bbb", [1]), ("", []), ("7", []), ("-1", [])],
)
def test_visible_gpus(visible: str | None, ids: list[int]) -> None:
    found = read_gpus(LISTING, visible)
    assert [slot.id for slot in found] == ids


def test_memory_is_in_bytes_where_it_is_known() -> None:
    assert [slot.memory_bytes for slot in read_gpus(LISTING, None)] == [143771 * 1024**2] * 2 + [None]
