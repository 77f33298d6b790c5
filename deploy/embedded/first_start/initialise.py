"""Runs the steps of a first start, each in its own short process, so that the supervisor loads no drivers.

`python -m deploy.embedded.first_start.initialise` reads one job as JSON from its standard input.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from deploy.embedded.servers.base import Home
from muster.errors import Broken, MusterError

ROOT = Path(__file__).parents[3]
SOURCES: dict[str, tuple[str, ...]] = {
    "keys": ("deploy/keys/*.py", "shared/auth/nats_jwt.py"),
    "certificates": ("deploy/embedded/first_start/certificates.py",),
    "database": ("deploy/postgres/*.py", "shared/database/*.py", "services/*/migrations/versions/*.py"),
    "bucket": ("deploy/embedded/first_start/buckets.py",),
}
"""Source files that a step's result depends on."""

STEP_TIMEOUT_S = 300.0


def run_step(step: str, job: Mapping[str, object], done: Path | None) -> None:
    """Run a step in its own process, unless it already ran with the same job and code.

    Args:
        step: a key of SOURCES.
        job: its arguments.
        done: file with a hash of the last job and its code; None runs the step each time.

    Raises:
        Broken: it failed.
    """
    text = json.dumps({"step": step, **job}, sort_keys=True)
    mark = _mark(step, text)
    if done is not None and done.exists() and done.read_text() == mark:
        return
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "deploy.embedded.first_start.initialise"],
        input=text,
        capture_output=True,
        text=True,
        timeout=STEP_TIMEOUT_S,
        check=False,
    )
    if finished.returncode != 0:
        raise Broken(f"{step} could not be set up: {finished.stderr.strip()}")
    if done is not None:
        done.write_text(mark)


def done_file(home: Home, step: str) -> Path:
    """Return the file that records the last run of a step; without it the step runs again."""
    return home.secrets / f"{step}.done"


def _mark(step: str, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for pattern in SOURCES[step]:
        for source in sorted(ROOT.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _perform(job: dict[str, str]) -> None:
    match job["step"]:
        case "keys":
            from deploy.keys.files import init_keys
            from shared.clock import SystemClock

            init_keys(Path(job["directory"]), SystemClock().now())
        case "certificates":
            from deploy.embedded.first_start.certificates import make_certificates
            from shared.clock import SystemClock

            make_certificates(Path(job["directory"]), SystemClock().now())
        case "database":
            from deploy.postgres.migrating import set_up_and_migrate
            from deploy.postgres.urls import PlatformDatabase

            wanted = PlatformDatabase(
                job["administrator_url"], job["platform"], json.loads(job["passwords"]), job["name"]
            )
            asyncio.run(set_up_and_migrate(wanted, owns_server=bool(json.loads(job["owns_server"]))))
        case "bucket":
            from deploy.embedded.first_start.buckets import make_bucket

            make_bucket(job["url"], job["access_key"], job["secret_key"], job["bucket"])
            if audit := job.get("audit_bucket"):
                make_bucket(job["url"], job["access_key"], job["secret_key"], audit, locked=True)
        case unknown:
            raise ValueError(f"no step {unknown!r}")


def _main() -> int:
    try:
        _perform(json.loads(sys.stdin.read()))
    except (MusterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - the last place where it can become a sentence
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
