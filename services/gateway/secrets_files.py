"""The gateway's two secrets on disk: made at the first start, readable by their owner alone. Nothing has a default."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muster.errors import Rejected
from services.gateway.platform.auth.tokens import MIN_PEPPER_BYTES, RANDOM_BYTES, is_token, render_token


def admin_token(path: Path) -> str:
    """The admin token that stands in `path`; made there when there is none.

    Raises:
        Rejected: what stands there is no token of ours.
    """
    token = _read_or_make(path, lambda: render_token(secrets.token_bytes(RANDOM_BYTES)))
    if not is_token(token):
        raise Rejected(
            "bad_settings",
            f"{path} holds no access token (`mst_` and 43 characters of base64url)",
            "MUSTER_GATEWAY__ADMIN_TOKEN_FILE",
            "remove the file: the next start makes a new one",
        )
    return token


def pepper(path: Path) -> bytes:
    """The secret that stands in `path`; made there when there is none.

    Raises:
        Rejected: it is too short to be a secret.
    """
    text = _read_or_make(path, lambda: secrets.token_hex(MIN_PEPPER_BYTES))
    if len(text) < MIN_PEPPER_BYTES or len(set(text)) < 8:
        raise Rejected(
            "bad_settings",
            f"{path} holds no secret of at least {MIN_PEPPER_BYTES} characters",
            "MUSTER_GATEWAY__PEPPER_FILE",
        )
    return text.encode()


def _read_or_make(path: Path, make: Callable[[], str]) -> str:
    """Two replicas that start together agree: the file appears whole, and once."""
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
