"""The sandboxes of a warm parent that runs as root.

Each has an *init*: a fork of the parent, the first process of a PID namespace. It builds the root, drops its privileges and reaps.
Ranks are forks of the parent too, born in that PID namespace, that enter init's other namespaces. If init ends, the kernel kills them.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from muster.runtime.sandbox import kernel
from muster.runtime.sandbox.root import build_root
from muster.runtime.sandbox.seccomp import restrict_calls
from muster.wire.sandbox_spec import SandboxSpec

_SHARED = kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP
_READY = b"ready"


class Sandbox:
    """One sandbox. `init` is its first process, `user` the id of all of them."""

    def __init__(self, spec: SandboxSpec, own_pids: int) -> None:
        """Start it; returns when its root is complete. Raises OSError with what the kernel refused."""
        self._spec, self._own_pids = spec, own_pids
        self.user = spec.user
        read, write = os.pipe()
        kernel.unshare(kernel.CLONE_NEWPID)
        self.init = self._fork_here()
        if self.init == 0:
            _become_init(spec, write)
        os.close(write)
        answer = os.read(read, 4096)
        os.close(read)
        if answer != _READY:
            os.waitpid(self.init, 0)
            raise OSError(f"the sandbox of the run could not be made: {answer.decode(errors='replace')}")
        self._process = os.pidfd_open(self.init)

    def fork(self) -> int:
        """Fork this process into the sandbox's PID namespace, as `os.fork`."""
        kernel.enter_namespace(self._process, kernel.CLONE_NEWPID)
        return self._fork_here()

    def _fork_here(self) -> int:
        """Fork into the PID namespace that is set for children, and set this process's own again."""
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid != 0:
                kernel.enter_namespace(self._own_pids, kernel.CLONE_NEWPID)
        return pid

    def enter(self) -> None:
        """Enter the other namespaces, in a child of `fork`. The working directory is then the sandbox's root."""
        network = kernel.CLONE_NEWNET if self._spec.network else 0
        kernel.enter_namespace(self._process, _SHARED | network)

    def end(self) -> None:
        """Kill everything in it."""
        with suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        os.close(self._process)


class Sandboxes:
    """The sandboxes of this parent, by run."""

    def __init__(self) -> None:
        self._by_run: dict[str, Sandbox] = {}
        self._own_pids = -1

    @property
    def inits(self) -> dict[int, str]:
        """The run of each sandbox, by the process id of its init."""
        return {sandbox.init: run for run, sandbox in self._by_run.items()}

    def open(self, run: str, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox of a run; the first call makes it. Raises OSError."""
        if self._own_pids < 0:
            self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        if run not in self._by_run:
            self._by_run[run] = Sandbox(spec, self._own_pids)
        return self._by_run[run]

    def on_exit(self, pid: int) -> None:
        """Forget the sandbox whose init has ended, and with it all of its processes."""
        for run in [run for run, sandbox in self._by_run.items() if sandbox.init == pid]:
            self.end(run)

    def end(self, run: str) -> None:
        """Kill everything in the sandbox of a run, if it has one."""
        if sandbox := self._by_run.pop(run, None):
            sandbox.end()


def drop_to(user: int) -> None:
    """Become the user of a sandbox, irrevocably: no capabilities, no set-user-id programs, fewer system calls."""
    kernel.drop_capabilities()
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, int(signal.SIGKILL))
    restrict_calls()


def _become_init(spec: SandboxSpec, answer: int) -> NoReturn:
    """Build the sandbox, report on `answer`, and reap until killed."""
    try:
        os.setsid()
        kernel.unshare(_SHARED)
        if spec.network:
            with Path(spec.network).open("rb") as network:
                kernel.enter_namespace(network.fileno(), kernel.CLONE_NEWNET)
        kernel.set_hostname(spec.hostname)
        build_root(spec, spec.place)
        os.closerange(0, answer)
        os.closerange(answer + 1, 1 << 20)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGCHLD})
        drop_to(spec.user)
        os.write(answer, _READY)
        os.close(answer)
        _reap_forever()
    except BaseException as error:  # the fork must end here in any case
        os.write(answer, repr(error).encode()[:4000])
    finally:
        os._exit(1)


def _reap_forever() -> NoReturn:
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigwait({signal.SIGCHLD})
