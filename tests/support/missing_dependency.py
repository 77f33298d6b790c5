"""What a test says when a real server or program is not installed. Properties of the kernel or the user are for `pytest.skip`."""

import os
import shutil
from collections.abc import Iterable
from typing import NoReturn

import pytest


def missing(what: str, hint: str) -> NoReturn:
    """Skip the test, because `what` is not installed here; in CI, which installs everything that tests need, fail it."""
    message = f"{what} is missing: {hint}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(
            f"{message} (in CI nothing is skipped for want of a program: .ci/programs installs them)",
            pytrace=False,
        )
    pytest.skip(message)


def need(programs: Iterable[str], hint: str) -> None:
    """Skip the test, or in CI fail it, unless all programs are found."""
    if absent := [program for program in programs if shutil.which(program) is None]:
        missing(", ".join(absent), hint)
