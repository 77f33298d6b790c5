"""The gateway's two secret files, admin token and pepper: created at the first start with mode 0600, without defaults."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muster.errors import Rejected
from services.gateway.platform.auth.tokens import MIN_PEPPER_BYTES, RANDOM_BYTES, is_token, render_token


def admin_token(path: Path) -> str:
    """Return the admin token in the file `path`, creating the file if it does not exist.

    Raises:
        Rejected: The file does not contain a valid access token.
    """
    token = _read_or_make(path, lambda: render_token(secrets.token_bytes(RANDOM_BYTES)))
    if not is_token(token):
        raise Rejected(
            "bad_settings",
            f"{path} does not contain an access token (`mst_` and 43 characters of base64url)",
            "MUSTER_GATEWAY__ADMIN_TOKEN_FILE",
            "delete the file; the next start creates a new one",
        )
    return token


def pepper(path: Path) -> bytes:
    """Return the secret in the file `path`, creating the file if it does not exist.

    Raises:
        Rejected: The secret is too short or too repetitive.
    """
    text = _read_or_make(path, lambda: secrets.token_hex(MIN_PEPPER_BYTES))
    if len(text) < MIN_PEPPER_BYTES or len(set(text)) < 8:
        raise Rejected(
            "bad_settings",
            f"{path} does not contain a secret of at least {MIN_PEPPER_BYTES} characters, 8 of them distinct",
            "MUSTER_GATEWAY__PEPPER_FILE",
        )
    return text.encode()


def _read_or_make(path: Path, make: Callable[[], str]) -> str:
    """Create the file atomically, so that replicas that start together use the same secret."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make() + "\n")
        with suppress(FileExistsError):
            os.link(part, path)
        part.unlink()
    return path.read_text().strip()
