"""Where a framework is not installed, the SDK works without it, and says what to install where it is needed."""

import os
import subprocess
import sys

FRAMEWORKS = ("torch", "lightning", "transformers", "keras", "tensorflow")
SCRIPT = f"""
import sys
from importlib import import_module
for name in {(*FRAMEWORKS, "horovod", "numpy")!r}:
    sys.modules[name] = None
for name in ("muster", "muster._trial", "muster.client", "muster.config", "muster.cli"):
    import_module(name)
for name in {FRAMEWORKS!r}:
    try:
        import_module("muster." + name)
    except ImportError as error:
        print(error)
"""


def test_the_sdk_needs_no_framework_and_says_how_to_install_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == len(FRAMEWORKS)
    for name, line in zip(FRAMEWORKS, told, strict=True):
        assert f"pip install './sdk[{name}]' in a checkout" in line


def test_keras_without_its_backend_says_how_to_choose_another() -> None:
    script = "import sys; sys.modules['tensorflow'] = None; import muster.keras"
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "set KERAS_BACKEND=torch before keras is imported" in done.stderr.splitlines()[-1]
