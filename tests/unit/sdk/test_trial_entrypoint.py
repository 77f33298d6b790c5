"""What a command means."""

import pytest

from muster.runtime.entrypoint import ExternalCommand, Module, Script, read_entrypoint

PYTHON = "/venv/bin/python"


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("python3 train.py", Script("train.py", ())),
        ("python train.py --lr 0.1 'a b'", Script("train.py", ("--lr", "0.1", "a b"))),
        ("python3.11 -u src/train.py", Script("src/train.py", ())),
        ("train.py x", Script("train.py", ("x",))),
        ("/venv/bin/python train.py", Script("train.py", ())),
        ("python -m pkg.train --x", Module("pkg.train", ("--x",))),
        (["python", "train.py", "a b"], Script("train.py", ("a b",))),
        (("python3", "-u", "-m", "pkg"), Module("pkg", ())),
        ("python -c 'print(1)'", ExternalCommand((PYTHON, "-c", "print(1)"))),
        ("python -O train.py", ExternalCommand((PYTHON, "-O", "train.py"))),
        ("A=1 python train.py", ExternalCommand(("/bin/sh", "-c", "A=1 python train.py"))),
        ("python train.py | tee x", ExternalCommand(("/bin/sh", "-c", "python train.py | tee x"))),
        ("python train.py '$HOME'", Script("train.py", ("$HOME",))),
        ("bash run.sh", ExternalCommand(("/bin/sh", "-c", "bash run.sh"))),
        (["bash", "run.sh"], ExternalCommand(("bash", "run.sh"))),
        ("/usr/bin/python3 train.py", ExternalCommand(("/bin/sh", "-c", "/usr/bin/python3 train.py"))),
        ("echo 'unbalanced", ExternalCommand(("/bin/sh", "-c", "echo 'unbalanced"))),
    ],
)
def test_a_command_is_read(command: str | list[str], meaning: object) -> None:
    assert read_entrypoint(command, PYTHON) == meaning
