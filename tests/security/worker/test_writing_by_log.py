"""Attack: a trial replaces its output file by a link to a file of the machine, so that its next process writes there as root."""

from pathlib import Path

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually


async def test_output_goes_into_no_file_of_the_machine(
    platform: FakePlatform, hostile: Daemon, secret: Path, tmp_path: Path
) -> None:
    print("tried: a link in place of the next process's standard output; stopped by O_NOFOLLOW")
    before = secret.read_text()
    tmp_path.joinpath("startup-hook.sh").write_text(f"ln -sf {secret} ../logs/0.stdout && echo linked\n")
    tmp_path.joinpath("train.py").write_text("print('written by a trial', flush=True)\n")
    run = platform.allocation("write", platform.add_code(tmp_path), (GangMember(worker="h1", slots=1),))
    await platform.desire("h1", run)
    await eventually(lambda: (seen := platform.of("h1", run)) is not None and seen.state == "exited")
    assert secret.read_text() == before
    seen = platform.of("h1", run)
    assert seen is not None and seen.exit_code
