"""`muster` as a person runs it, forked from a process that has imported what it imports: the imports are most of what a command costs."""

import json
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.warm import WarmHere, parent_of

MUSTER = str(Path(sysconfig.get_path("scripts")) / "muster")
TIMEOUT_S = 150.0


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, object]:
        content: dict[str, object] = json.loads(self.out)
        return content


def run(*arguments: str, environment: Mapping[str, str], folder: Path, given: str = "") -> Ended:
    """Run the command to its end, with something on its standard input. Raises subprocess.TimeoutExpired."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as reads,
    ):
        reads.write(given.encode())
        reads.seek(0)
        status_pipe = parent_of(MUSTER).fork(
            environment, output.fileno(), errors.fileno(), arguments=arguments, folder=folder, given=reads.fileno()
        )  # fmt: skip
        command = WarmHere(status_pipe)
        try:
            code = command.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            command.kill()
            raise
        output.seek(0)
        errors.seek(0)
        return Ended(code, output.read().decode(), errors.read().decode())
