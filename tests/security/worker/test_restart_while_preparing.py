"""A daemon that is restarted while a run's startup hook runs writes nothing through what the hook has put there."""

from collections.abc import Callable
from pathlib import Path

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import state_of
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)
HOOK = """
rm payload ../watch/pulses
ln -s "$WRITTEN" payload
ln -s "$ZEROED" ../watch/pulses
touch hooked
while [ ! -e go ]; do sleep 0.1; done
"""


async def test_a_restarted_daemon_does_not_write_code_through_links_of_a_hook(
    platform: FakePlatform, daemons: Callable[[str], Daemon], secret: Path, tmp_path: Path
) -> None:
    daemon = daemons("h1")
    daemon.start()
    await eventually(lambda: "h1" in platform.observed)
    (tmp_path / "train.py").write_text("import muster\nmuster.trial().report(1, loss=1.0)\n")
    (tmp_path / "payload").write_text("root::0:0::/root:/bin/sh\n")
    (tmp_path / "startup-hook.sh").write_text(HOOK)
    before, created = secret.read_text(), secret.with_name("created")
    spec = {"environment": {"WRITTEN": str(created), "ZEROED": str(secret)}}
    run = platform.allocation("restart", platform.add_code(tmp_path), ONE, spec=spec)
    await platform.desire("h1", run)
    code = daemon.directory / "runs" / str(run.run_id) / "code"
    await eventually(lambda: (code / "hooked").exists())
    daemon.kill()
    daemon.start_again()
    (code / "go").touch()
    await eventually(lambda: state_of(platform, run, "h1") == "exited")
    assert not created.exists()
    assert secret.read_text() == before
    observed = platform.of("h1", run)
    assert observed is not None and not observed.fault
