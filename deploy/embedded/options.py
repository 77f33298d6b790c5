"""The options of the embedded platform: directory, existing servers, ports. Only this module reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.embedded.environment import S3Address
from deploy.embedded.servers.s3 import BUCKET
from deploy.postgres.urls import DATABASE
from muster.errors import Rejected

REST_PORT = 8470
GRPC_PORT = 8471
NICENESS = "MUSTER_WORKER__NICENESS"
RUNS_NICENESS = 10
"""Servers and services have priority over trainings, which would use every core all the time (decision 0268)."""
FOLDER = ".muster"
STATE_FILE = "state.json"
_OWN_SECTIONS = ("MUSTER_NATS__", "MUSTER_POSTGRES__", "MUSTER_REDIS__", "MUSTER_S3__", "MUSTER_SIDE__")
_OWN_NAMES = ("MUSTER_GATEWAY__PORT", "MUSTER_GATEWAY__GRPC_PORT")
_PASSED_NAMES = ("MUSTER_FAULTS",)


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `muster up`.

    Attributes:
        home: the platform's directory, `.muster`.
        keys: the directory of NATS identities.
        nats_url, postgres_url, redis_url, s3: existing servers; None: `muster up` starts one.
        database: the name of the platform's database.
        rest_port, grpc_port: the gateway's; 0 for a free one.
        runs_niceness: the CPU niceness of runs, which share this machine with servers and services.
        inherited: the environment that services get in addition to their settings.
    """

    home: Path
    keys: Path
    nats_url: str | None = None
    postgres_url: str | None = None
    redis_url: str | None = None
    s3: S3Address | None = None
    database: str = DATABASE
    rest_port: int = REST_PORT
    grpc_port: int = GRPC_PORT
    runs_niceness: int = RUNS_NICENESS
    inherited: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_options(environment: Mapping[str, str] | None = None, home: Path | None = None) -> Options:
    """Read the options for `muster up`.

    Raises:
        Rejected: a value is invalid.
    """
    values = os.environ if environment is None else environment
    root = home or home_to_start(values)
    rest = _port(values, "MUSTER_GATEWAY__PORT", REST_PORT)
    return Options(
        home=root,
        keys=Path(values.get("MUSTER_KEYS") or root / "keys").absolute(),
        nats_url=values.get("MUSTER_NATS__URL") or None,
        postgres_url=values.get("MUSTER_POSTGRES__URL") or None,
        redis_url=values.get("MUSTER_REDIS__URL") or None,
        s3=_s3(values),
        database=values.get("MUSTER_POSTGRES__DATABASE") or DATABASE,
        rest_port=rest,
        grpc_port=_port(values, "MUSTER_GATEWAY__GRPC_PORT", GRPC_PORT if rest == REST_PORT else 0),
        runs_niceness=_number(values, NICENESS, RUNS_NICENESS, 19, "niceness"),
        inherited={name: value for name, value in values.items() if _is_passed(name)},
    )


def home_to_start(environment: Mapping[str, str] | None = None) -> Path:
    """Return the directory for a new platform: MUSTER_HOME, else `.muster` in the working directory."""
    values = os.environ if environment is None else environment
    return Path(values.get("MUSTER_HOME") or FOLDER).absolute()


def home_to_find() -> Path:
    """Return the directory of an existing platform: MUSTER_HOME, else the nearest `.muster` with a state file in or above the working directory."""
    if os.environ.get("MUSTER_HOME"):
        return home_to_start()
    here = Path.cwd()
    folders = (folder / FOLDER for folder in (here, *here.parents))
    return next((folder for folder in folders if (folder / STATE_FILE).exists()), home_to_start())


def _s3(values: Mapping[str, str]) -> S3Address | None:
    url = values.get("MUSTER_S3__URL")
    if not url:
        return None
    pair = [values.get(f"MUSTER_S3__{name}", "") for name in ("ACCESS_KEY", "SECRET_KEY")]
    if not all(pair):
        raise Rejected(
            "bad_settings",
            "MUSTER_S3__URL is set without access keys",
            hint="set MUSTER_S3__ACCESS_KEY and MUSTER_S3__SECRET_KEY too",
        )
    return S3Address(url, pair[0], pair[1], values.get("MUSTER_S3__BUCKET") or BUCKET)


def _number(values: Mapping[str, str], name: str, otherwise: int, maximum: int, kind: str) -> int:
    text = values.get(name)
    if not text:
        return otherwise
    if not text.isdigit() or int(text) > maximum:
        raise Rejected(
            "bad_settings", f"{name}={text} is not a valid {kind}", hint=f"use a number from 0 to {maximum}"
        )
    return int(text)


def _port(values: Mapping[str, str], name: str, otherwise: int) -> int:
    return _number(values, name, otherwise, 65535, "port")


def _is_passed(name: str) -> bool:
    """Whether services inherit a variable: system variables, and settings that `muster up` does not generate."""
    if not name.startswith("MUSTER_"):
        return True
    if name in _PASSED_NAMES:
        return True
    return "__" in name and name not in _OWN_NAMES and not name.startswith(_OWN_SECTIONS)
