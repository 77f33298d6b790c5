"""A worker without training: it holds its directory, notes its start and what it was given, and ends at SIGTERM.

Its behaviour is set by its first argument: `stay`, `stubborn` (ignores SIGTERM) or `fail` (ends at once).
"""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    behaviour = sys.argv[1]
    directory = Path(os.environ["MUSTER_WORKER__DIRECTORY"])
    with (directory / "starts").open("a") as starts:
        starts.write(f"{os.getpid()} {time.clock_gettime(time.CLOCK_MONOTONIC)}\n")
    (directory / "environment.json").write_text(json.dumps(dict(os.environ)))
    lock = os.open(directory / "daemon.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(lock, str(os.getpid()).encode())
    if behaviour == "fail":
        sys.exit(3)
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
