"""A warm parent of programs, as `python -m tests.support.warm_parent PROGRAM`: it has imported what the program needs, and forks it.

Importing is most of what a service's start or a command's costs, and the tests start some hundreds of processes, several of each program. What is
forked is a process like any other: it has an environment, a folder, a log and an exit code of its own, is frozen and killed by its pid, and runs the
program's `__main__`, or the script that is the program, from its first line; what a program reads at import, its fault points, is read again.
`warm.py` asks.

On standard input is a socket. Each message there is the arguments, the folder and the environment of one process, as JSON, with four descriptors: its
standard input, output and error, and the pipe on which the process's id and later its exit code are told.
"""

import gc
import importlib.util
import json
import os
import runpy
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from shared.runtime import faults

MOST_BYTES = 1 << 20
STATUS_BYTES = 12
"""Of one number on the pipe: an id, then an exit code."""
OF_COMMANDS = (
    "muster.cli",
    "muster.client",
    "rich.table",
    "deploy.embedded.commands",
    "deploy.embedded.lifecycle",
)
"""What the command line imports once a command runs."""


def encode_status(number: int) -> bytes:
    return str(number).rjust(STATUS_BYTES).encode()


def import_parts(program: str) -> None:
    """Import what the program imports once it runs: `PROGRAM/__main__.py`, a module that is one, or the script `muster`."""
    if is_script(program):
        for module in OF_COMMANDS:
            importlib.import_module(module)
        return
    spec = importlib.util.find_spec(program)
    assert spec is not None, f"there is no program {program}"
    if spec.submodule_search_locations is None:
        importlib.import_module(program)
        del sys.modules[program]  # which is run under another name
        return
    for module in (f"{program}.service", f"{program}.settings", "shared.runtime.process"):
        importlib.import_module(module)


def is_script(program: str) -> bool:
    return Path(program).is_absolute()


def fork_when_asked(control: socket.socket) -> None:
    """Return in each process that was asked for; end when nobody can ask any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MOST_BYTES, 4)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            become(json.loads(message), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def become(asked: dict[str, Any], *descriptors: int) -> None:
    """Fork once more, return in the child, and stay to tell of its end: only who forked a process learns its exit code."""
    *standard, status_pipe = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child != 0:
        for descriptor in standard:
            os.close(descriptor)
        attend(child, status_pipe)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    sys.argv[1:] = asked["arguments"]
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    faults.configure(os.environ.get(faults.VARIABLE, ""))  # the only thing that is read of it at import


def attend(child: int, status_pipe: int) -> NoReturn:
    os.write(status_pipe, encode_status(child))
    _, status = os.waitpid(child, 0)
    os.write(status_pipe, encode_status(os.waitstatus_to_exitcode(status)))
    os._exit(0)


if __name__ == "__main__":
    program = sys.argv.pop(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    import_parts(program)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    fork_when_asked(socket.socket(fileno=sys.stdin.fileno()))
    gc.enable()
    if is_script(program):
        sys.argv[0] = program
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
