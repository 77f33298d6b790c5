"""Log policies on a real worker: what a rank prints last is counted before its end is told."""

from pathlib import Path

from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_runs import ONE
from tests.support.waiting import eventually

CRASH = """
import sys
print("x" * 60)
for number in range(20_000):
    print("line", number)
sys.stderr.write("fatal: the links are \\x1b[31mdown\\x1b[0m")
sys.exit(3)
"""
POLICIES = [
    {"name": "links", "pattern": "links are (down|gone)", "action": "exclude_node"},
    {"name": "last", "pattern": "^line 19999$", "action": "cancel_retries"},
]


async def test_what_a_crashing_rank_prints_last_meets_its_policies_and_is_in_the_log(
    platform: FakePlatform, worker: Daemon, tmp_path: Path
) -> None:
    code = platform.add_code(code_in(tmp_path, CRASH))
    run = platform.allocation("links", code, ONE, spec={"log_policies": POLICIES})
    await platform.desire("w1", run)
    await eventually(lambda: state_of(platform, run) == "exited")
    ended = platform.of("w1", run)
    assert ended is not None
    assert ended.exit_code == 3
    assert {(match.name, match.action) for match in ended.policies} == {
        ("links", "exclude_node"),
        ("last", "cancel_retries"),
    }
    await platform.desire("w1")
    await eventually(lambda: platform.observed["w1"].drained)
    text = platform.text(run)
    assert "fatal: the links are down" in text.splitlines()
    assert all(f"line {number}\n" in text for number in range(20_000))
    assert "log policy 'links' matched a line of rank 0: fatal: the links are down" in text
