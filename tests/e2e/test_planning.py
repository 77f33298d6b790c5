"""An experiment's cost is asked for before it is submitted, on the pool as it stands."""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.e2e.platform import TIMEOUT_S, TOY, Platform
from tests.support.waiting import eventually

CONFIG = """
entrypoint: python3 train.py
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: random, metric: loss, max_trials: 4}
"""


async def test_a_plan_is_for_the_pool_as_it_stands_and_submits_nothing(platform: Platform) -> None:
    def is_ready() -> bool:
        return any(one.state == "ready" and one.slots for one in platform.client.cluster.workers())

    await eventually(is_ready, TIMEOUT_S, every_s=0.2)
    before = {one.number for one in platform.client.experiments.list()}
    asked = ["plan", "-", "--step-time", "30", "--steps", "20", "--futures", "3", "--whole"]
    told = platform.muster(*asked, "--json", stdin=CONFIG)
    assert told.code == 0, told.err
    found = json.loads(told.out)
    assert found["on"].startswith("pool default, ") and found["basis"] == "stated_model"
    assert found["trials"]["middle"] == 4 and found["slot_hours"]["middle"] > 0.5
    shown = platform.muster(*asked, stdin=CONFIG)
    assert "ends if started now" in shown.out
    unknown = platform.muster(*asked, "--pool", "moon", stdin=CONFIG)
    assert unknown.code != 0 and "moon" in unknown.err + unknown.out
    assert {one.number for one in platform.client.experiments.list()} == before


async def test_earlier_trials_of_the_same_code_say_how_long_it_takes(
    platform: Platform, tmp_path: Path
) -> None:
    code = shutil.copytree(TOY, tmp_path / "code")
    (code / "mine").write_text("other tests run the toy too, for longer")
    platform.completed(platform.client.experiments.create(CONFIG, code))
    found: dict[str, Any] = {}

    def is_remembered() -> bool:
        told = platform.muster("plan", "-", str(code), "--futures", "3", "--json", stdin=CONFIG)
        assert told.code == 0, told.err
        found.update(json.loads(told.out))
        return bool(found["earlier_runs"] == 4)

    platform.until(is_remembered)
    assert (found["basis"], found["earlier_experiments"]) == ("earlier_trials", 1)
    assert found["steps"]["middle"] == 4 * 6, "as long as those before"
    assert found["took_s"]["middle"] > 0 and found["slot_hours"]["middle"] > 0
