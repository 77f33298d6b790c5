"""Attack 2: a trial swaps a checkpoint's folder for a link, so that the worker uploads a file of the machine and moves it away."""

from pathlib import Path

from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

ONE = (GangMember(worker="h1", slots=1),)


async def test_a_swapped_folder_is_neither_uploaded_nor_removed(
    platform: FakePlatform, hostile: Daemon, secret: Path, tmp_path: Path
) -> None:
    print(
        "tried: exchange a folder for a link between listing, upload and caching; stopped by RESOLVE_NO_SYMLINKS"
    )
    machine = secret.parent
    tmp_path.joinpath("train.py").write_text(f"""
import muster, os, threading, time
trial = muster.trial()
folder = os.path.join(os.path.dirname(os.environ["MUSTER_TRIAL"]), "checkpoints")
def swap():
    while True:
        for name in os.listdir(folder):
            inner = os.path.join(folder, name, "inner")
            try:
                os.rename(inner, inner + ".own")
                os.symlink({str(machine)!r}, inner)
                time.sleep(0.0005)
                os.unlink(inner)
                os.rename(inner + ".own", inner)
            except OSError:
                pass
            time.sleep(0.0002)
threading.Thread(target=swap, daemon=True).start()
for step in range(1, 60):
    with trial.checkpoint(step) as target:
        (target / "inner").mkdir()
        (target / "inner" / {secret.name!r}).write_text("mine")
    trial.report(step, loss=1.0)
time.sleep(2)
""")
    run = platform.allocation("swap", platform.add_code(tmp_path), ONE)
    await platform.desire("h1", run)
    await eventually(lambda: (seen := platform.of("h1", run)) is not None and seen.state == "exited", 60)
    await platform.desire("h1")
    await eventually(lambda: platform.of("h1", run) is None, 60)
    stolen = [one for upload in platform.saved_of(run) for one in upload.files if one.size_bytes != 4]
    assert not stolen
    assert secret.exists(), "the worker moved a file of the machine"
    kept = [path for path in (hostile.directory / "cache").rglob("*") if path.is_file()]
    assert all(path.read_bytes() != secret.read_bytes() for path in kept)
