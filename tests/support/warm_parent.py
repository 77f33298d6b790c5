"""A warm parent of programs, as `python -m tests.support.warm_parent PROGRAM`: it has imported what the program needs, and forks it.

Importing is most of what a service's start costs, and the tests start some hundreds of processes, several of each program. What is forked
is a process like any other: it has an environment, a log and an exit code of its own, is frozen and killed by its pid, and runs the program's
`__main__` from its first line; what a program reads at import, its fault points, is read again. `warm.py` asks.

On standard input is a socket. Each message there is the environment of one process, as JSON, with three descriptors: its standard output,
its standard error, and the pipe on which the process's id and later its exit code are told.
"""

import gc
import importlib.util
import json
import os
import runpy
import signal
import socket
import sys
from typing import NoReturn

from shared import faults

MOST_BYTES = 1 << 20
TOLD_BYTES = 12
"""Of one number on the pipe: an id, then an exit code."""


def told(number: int) -> bytes:
    return str(number).rjust(TOLD_BYTES).encode()


def import_parts(program: str) -> None:
    """Import what the program imports once it runs: `PROGRAM/__main__.py`, or a module that is one."""
    spec = importlib.util.find_spec(program)
    assert spec is not None, f"there is no program {program}"
    if spec.submodule_search_locations is None:
        importlib.import_module(program)
        del sys.modules[program]  # which is run under another name
        return
    for module in (f"{program}.service", f"{program}.settings", "shared.process", "shared.garbage"):
        importlib.import_module(module)


def fork_when_asked(control: socket.socket) -> None:
    """Return in each process that was asked for; end when nobody can ask any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MOST_BYTES, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            become(json.loads(message), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def become(environment: dict[str, str], output: int, errors: int, told_on: int) -> None:
    """Fork once more, return in the child, and stay to tell of its end: only who forked a process learns its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child != 0:
        os.close(output)
        os.close(errors)
        attend(child, told_on)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(output, sys.stdout.fileno())
    os.dup2(errors, sys.stderr.fileno())
    os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)  # which takes the place of the socket
    for descriptor in (output, errors, told_on):
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    faults.configure(environment.get(faults.VARIABLE, ""))  # the only thing that is read of it at import


def attend(child: int, told_on: int) -> NoReturn:
    os.write(told_on, told(child))
    _, status = os.waitpid(child, 0)
    os.write(told_on, told(os.waitstatus_to_exitcode(status)))
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
    runpy.run_module(program, run_name="__main__", alter_sys=True)
