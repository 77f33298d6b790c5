"""URL and token of the platform, from the environment or a file."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from muster.errors import Rejected

URL_VARIABLE = "MUSTER_URL"
TOKEN_VARIABLE = "MUSTER_TOKEN"
HOME_VARIABLE = "MUSTER_HOME"
CACHE_VARIABLE = "MUSTER_CACHE"
FOLDER = ".muster"
FILE = "client.json"
NOWHERE_HINT = (
    f"start one with `muster up`, sign in with `muster login URL`, or set {URL_VARIABLE} and {TOKEN_VARIABLE}"
)


@dataclass(frozen=True, slots=True)
class Address:
    """URL of the platform, token of the caller, and their source."""

    url: str
    token: str = field(repr=False)
    source: str


def discover(start: Path | None = None) -> Address:
    """Return the address from MUSTER_URL and MUSTER_TOKEN, else from the nearest `.muster/client.json`.

    The file is searched in MUSTER_HOME if set, else from `start` (the working directory) upward, and last in the user's home.

    Raises:
        Rejected: No address is configured, or the file cannot be read.
    """
    url = os.environ.get(URL_VARIABLE)
    if url:
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            raise Rejected(
                "no_token",
                f"{URL_VARIABLE} is set but {TOKEN_VARIABLE} is not",
                hint=f"set {TOKEN_VARIABLE} too, or unset {URL_VARIABLE}",
            )
        return Address(url.rstrip("/"), token, f"{URL_VARIABLE} in the environment")
    for folder in _folders(start):
        file = folder / FILE
        if file.is_file():
            return read_address(file)
    raise Rejected("no_platform", "no platform is configured here", hint=NOWHERE_HINT)


def cache_folder() -> Path:
    """Return the cache folder for files of models and checkpoints."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "muster"


def home(start: Path | None = None) -> Path | None:
    """Return the nearest `.muster` folder of a platform on this machine, or None."""
    return next((folder for folder in _folders(start) if folder.is_dir()), None)


def save(url: str, token: str, folder: Path | None = None) -> Path:
    """Write the address where `discover` finds it (the user's home by default), readable only by the user."""
    folder = folder or Path.home() / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f"{FILE}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as target:
        json.dump({"url": url.rstrip("/"), "token": token}, target)
    draft.replace(folder / FILE)
    return folder / FILE


def preferred_to(file: Path) -> str | None:
    """Return the source that takes precedence over `file` for commands started here; None if `file` is used."""
    try:
        source = discover().source
    except Rejected as error:
        source = error.place or f"{HOME_VARIABLE} in the environment"
    return None if source == str(file) else source


def forget(address: Address) -> bool:
    """Delete the user's own address file if the address comes from it; return False for other sources, which stay."""
    file = Path.home() / FOLDER / FILE
    if address.source != str(file):
        return False
    file.unlink(missing_ok=True)
    return True


def read_address(file: Path) -> Address:
    """Read the address from a `client.json`.

    Raises:
        Rejected: The file cannot be read, or has other content.
    """
    try:
        content = json.loads(file.read_text())
        return Address(str(content["url"]).rstrip("/"), str(content["token"]), str(file))
    except OSError as error:
        raise Rejected(
            "bad_client_file",
            f"client.json cannot be read: {error.strerror or error}",
            place=str(file),
            hint="make the file readable, or sign in again with `muster login URL`",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(
            "bad_client_file",
            "client.json is damaged: it must contain `url` and `token`",
            place=str(file),
            hint="sign in again with `muster login URL`, or start the platform again with `muster up`",
        ) from error


def _folders(start: Path | None) -> list[Path]:
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return [Path(chosen)]
    here = (start or Path.cwd()).resolve()
    return [folder / FOLDER for folder in (here, *here.parents, Path.home())]
