"""The platform for the demo: a running one, or one that is started and stopped."""

import os
import subprocess
import sys
from pathlib import Path

from deploy.embedded.options import home_to_start
from muster.client import Client, connect
from muster.client.settings import FILE, read_address
from muster.errors import MusterError

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"MUSTER_WORKER__WARM_ALSO": "sklearn.datasets", "MUSTER_PROVISIONER__SLOT_KIND": "cpu"}
"""The example loads its digits from scikit-learn, which each worker imports once. CPU slots, because the example shows a growing pool, and all
GPUs of a machine belong to one worker."""
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 60


class CannotStart(MusterError):
    """The platform did not come up."""

    kind = "broken"

    def __init__(self, message: str) -> None:
        super().__init__("cannot_start", message)


class Platform:
    """The embedded platform of the working directory, or of MUSTER_HOME.

    Attributes:
        home: The directory of its data and logs.
    """

    def __init__(self) -> None:
        self.home = home_to_start()
        self.started_here = False

    def start(self) -> None:
        """Start the platform unless it is running.

        Raises:
            CannotStart: `muster up` failed; it has printed why.
        """
        if self._answers():
            print("using the platform that is already running; it stays running")
            return
        self.started_here = True
        code = self._muster("up", START_TIMEOUT_S)
        if code or not self._answers():
            raise CannotStart(
                f"the platform did not start (`muster up` ended with {code}): fix the error above, "
                "and run `make demo` again"
            )

    def stop(self) -> None:
        """Stop the platform if it was started here."""
        if self.started_here:
            self.started_here = False
            self._muster("down", STOP_TIMEOUT_S)

    def client(self) -> Client:
        """Return a client of the platform."""
        return connect(read_address(self.home / FILE))

    def _answers(self) -> bool:
        if not (self.home / FILE).exists():
            return False
        try:
            with self.client() as client:
                client.me()
        except MusterError:
            return False
        return True

    def _muster(self, command: str, timeout_s: float) -> int:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("muster")), command],
            env={**SETTINGS, **os.environ, "MUSTER_HOME": str(self.home)},
            timeout=timeout_s,
            check=False,
        )
        return done.returncode
