"""A checkpoint of 1 GiB under a training: how long training waits for it, how it goes on meanwhile, and how fast it is sent.

The training takes one core, the platform and its servers have the other. Beside each upload the same bytes are sent by a plain
S3 client, several files at once as `mc` does, to the same server, under the same training. The upload counts from the end of the
script's block (hashing included) until the worker has sent all; the commit, for which the registry copies and reads the whole, follows
and is said apart. So are the steps beside the plain client's sending: what remains of them is the server's doing on this machine.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median

from minio import Minio
from pydantic import JsonValue

from deploy.embedded.servers import Home, S3Server
from deploy.embedded.state import load_state
from shared.settings import S3Settings
from tests.bench.embedded import TRIALS, Database, Platform, platform
from tests.bench.harness import Figures, Report, run

ROUNDS = 2
FILES, FILE_MIB = 8, 128
SIZE_MIB = FILES * FILE_MIB
AT_ONCE = 4
BEFORE_S = 4.0
TIMEOUT_S = 120.0
LOOK_S = 0.01
ASK_S = 0.1
"""Between two looks into the database: a hundred a second took a tenth of the core that sends."""
FOUND = "SELECT state, created_at, changed_at FROM registry.checkpoint WHERE number = $1"


@dataclass(frozen=True, slots=True)
class Round:
    """One checkpoint, in seconds."""

    wrote_s: float
    blocked_s: float
    hashed_s: float
    sent_s: float
    committed_s: float
    bare_s: float
    steps_ratio: float
    steps_ratio_whole: float
    steps_ratio_bare: float


class Training:
    """The one trial, asked by files and watched in the registry's tables."""

    def __init__(self, bench: Platform) -> None:
        self._bench = bench
        self._database = Database(bench)
        config: dict[str, JsonValue] = {
            "name": "checkpoint",
            "entrypoint": "python3 checkpointing.py",
            "hyperparameters": {"folder": ".", "files": FILES, "file_mib": FILE_MIB},
            "searcher": {"name": "single", "metric": "loss"},
            "max_restarts": 0,
        }
        bench.client.experiments.create(config, bench.client.experiments.put_code(TRIALS))
        _await(lambda: len(self.steps()) > 100, "the training did not begin")

    @property
    def _folder(self) -> Path:
        return self._bench.folders_of_runs("code")[0]

    def save(self, number: int) -> dict[str, float]:
        """Have the script save; return what it says of it, and when the worker had sent and the registry committed it."""
        (self._folder / f"go-{number}").touch()
        answer = self._folder / f"saved-{number}"
        _await(answer.exists, f"checkpoint {number} was not written")
        result: dict[str, float] = json.loads(answer.read_text())
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            row = self._database.row(FOUND, number)
            if row and row["state"] in ("committing", "saved"):
                result.setdefault("sent", time.time())
            if row and row["state"] == "saved":
                saved = row["changed_at"].timestamp()
                return result | {
                    "hashed": row["created_at"].timestamp(),
                    "sent": min(result["sent"], saved),
                    "saved": saved,
                }
            time.sleep(ASK_S)
        raise SystemExit(f"checkpoint {number} was not saved within {TIMEOUT_S:g} s")

    def steps(self) -> list[float]:
        """When each step so far was made."""
        diaries = self._bench.folders_of_runs("code/steps")
        return [float(line) for diary in diaries for line in diary.read_text().splitlines()]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def measure(report: Report) -> Figures:
    report.inputs(rounds=ROUNDS, files=FILES, file_mib=FILE_MIB, puts_at_once=AT_ONCE)
    with platform(workers=1) as bench:
        client = _client(bench.home)
        content = os.urandom(FILE_MIB * 2**20)
        training = Training(bench)
        rounds = [_measure(training, client, content, number) for number in range(1, ROUNDS + 1)]
        training.close()
    for one in rounds:
        report.say(
            f"written in {one.wrote_s:.2f} s, waited {one.blocked_s * 1000:.0f} ms besides; hashed {one.hashed_s:.2f} s, sent "
            f"{one.sent_s:.2f} s, committed {one.committed_s:.2f} s; the same bytes bare {one.bare_s:.2f} s; steps "
            f"{one.steps_ratio:.2f} of before until all was sent, {one.steps_ratio_whole:.2f} until committed, "
            f"{one.steps_ratio_bare:.2f} beside the bare sending"
        )
    report.check("saved", ROUNDS, len(rounds))
    return {
        "blocked_fraction": median(one.blocked_s / (one.hashed_s + one.sent_s) for one in rounds),
        "steps_ratio": median(one.steps_ratio for one in rounds),
        "throughput_ratio": median(one.bare_s / (one.hashed_s + one.sent_s) for one in rounds),
        "steps_ratio_bare": median(one.steps_ratio_bare for one in rounds),
        "steps_ratio_until_committed": median(one.steps_ratio_whole for one in rounds),
        "hashed_s": median(one.hashed_s for one in rounds),
        "sent_s": median(one.sent_s for one in rounds),
        "committed_s": median(one.committed_s for one in rounds),
        "bare_s": median(one.bare_s for one in rounds),
    }


def _measure(training: Training, client: Minio, content: bytes, number: int) -> Round:
    time.sleep(BEFORE_S)
    result = training.save(number)
    time.sleep(1.0)
    started = time.time()
    _put(client, content, number)
    ended = time.time()
    steps = training.steps()
    before = _rate(steps, result["began"] - BEFORE_S + 1, result["began"])
    return Round(
        wrote_s=result["wrote_s"],
        blocked_s=result["ended"] - result["began"] - result["wrote_s"],
        hashed_s=max(0.0, result["hashed"] - result["ended"]),
        sent_s=result["sent"] - max(result["hashed"], result["ended"]),
        committed_s=result["saved"] - result["sent"],
        bare_s=ended - started,
        steps_ratio=_rate(steps, result["ended"], result["sent"]) / before,
        steps_ratio_whole=_rate(steps, result["ended"], result["saved"]) / before,
        steps_ratio_bare=_rate(steps, started, ended) / before,
    )


def _rate(steps: Sequence[float], begin: float, end: float) -> float:
    return sum(begin <= at < end for at in steps) / (end - begin)


def _put(client: Minio, content: bytes, number: int) -> None:
    """Send as many bytes in as many files, as a program does that has nothing else to do."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for sent in [
            threads.submit(_put_one, client, content, f"bench/{number}-{index}") for index in range(FILES)
        ]:
            sent.result()


def _put_one(client: Minio, content: bytes, key: str) -> None:
    client.put_object(_bucket(), key, BytesIO(content), len(content), part_size=len(content))


def _client(home: Path) -> Minio:
    state = load_state(home)
    assert state is not None
    server = S3Server(Home(home), next(part.ports for part in state.parts if part.name == "s3"))
    access, secret = server.platform
    return Minio(server.url.removeprefix("http://"), access_key=access, secret_key=secret, secure=False)


def _bucket() -> str:
    return str(S3Settings.model_fields["bucket"].default)


def _await(claim: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not claim():
        if time.monotonic() > end:
            raise SystemExit(otherwise)
        time.sleep(LOOK_S)


if __name__ == "__main__":
    run("checkpoint", measure)
