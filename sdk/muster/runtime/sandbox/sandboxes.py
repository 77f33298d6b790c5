"""The sandboxes of a warm parent.

Each has an *init*: a fork of the parent, the first process of a PID namespace. It builds the root, drops its privileges and reaps.
Ranks are forks of the parent too, born in that PID namespace, that enter init's other namespaces. If init ends, the kernel kills them.

Without root, each sandbox has a user namespace besides, in which its makers have the capabilities that this needs. All processes then have
the parent's user id, and no capability is left to them.
"""

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from muster.runtime.sandbox import kernel
from muster.runtime.sandbox.root import build_root
from muster.runtime.sandbox.seccomp import restrict_calls
from muster.wire.sandbox_spec import SandboxSpec

_SHARED = kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP
_NAMESPACES = ("user", "pid", "mnt", "ipc", "uts", "cgroup", "net")
_READY = b"ready"


class Sandbox:
    """One sandbox. `init` is its first process, `user` the id of all of them."""

    def __init__(self, spec: SandboxSpec, own_pids: int) -> None:
        """Start it; returns when its root is complete. Raises OSError with what the kernel refused."""
        self._own_pids = own_pids
        self._is_rootless = os.geteuid() != 0
        self.user = spec.user
        here, there = socket.socketpair()
        with here:
            with there:
                self.init = self._fork_init()
                if self.init == 0:
                    _become_init(spec, there)
            answer, opened, _, _ = socket.recv_fds(here, 4096, len(_NAMESPACES), socket.MSG_CMSG_CLOEXEC)
        self._namespaces = dict(zip(_NAMESPACES, opened, strict=False))
        if answer != _READY:
            os.waitpid(self.init, 0)
            raise OSError(f"the sandbox of the run could not be made: {answer.decode(errors='replace')}")
        if not spec.network:
            os.close(self._namespaces.pop("net"))

    def fork(self) -> int:
        """Fork this process into the sandbox's PID namespace, as `os.fork`."""
        if self._is_rootless:
            return _fork_through(self._enter_user_namespace)
        kernel.enter_namespace(self._namespaces["pid"], kernel.CLONE_NEWPID)
        return self._fork_here()

    def _fork_init(self) -> int:
        if self._is_rootless:
            return _fork_through(_make_user_namespace)
        kernel.unshare(kernel.CLONE_NEWPID)
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

    def _enter_user_namespace(self) -> None:
        kernel.enter_namespace(self._namespaces["user"], kernel.CLONE_NEWUSER)
        kernel.enter_namespace(self._namespaces["pid"], kernel.CLONE_NEWPID)

    def enter(self) -> None:
        """Enter the other namespaces, in a child of `fork`. The working directory is then the sandbox's root."""
        for name, namespace in self._namespaces.items():
            if name not in ("user", "pid"):
                kernel.enter_namespace(namespace, 0)

    def end(self) -> None:
        """Kill everything in it."""
        with suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        for namespace in self._namespaces.values():
            os.close(namespace)


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
    # Until `allow_debugging` no process of the run may read this one, which still has descriptors of the parent.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.drop_capabilities()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.clear_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, int(signal.SIGKILL))
    restrict_calls()


def _fork_through(enter: Callable[[], None]) -> int:
    """Fork a child of this process, as `os.fork`, in the namespaces that `enter` leads to and that this process could not leave again.

    A fork between both enters them and ends; the child is then this process's own, which is a subreaper. Raises OSError.
    """
    answers, answer = os.pipe()
    until_read, until_write = os.pipe()
    between = os.fork()
    if between == 0:
        try:
            enter()
            pid = os.fork()
            if pid == 0:
                for one in (answers, answer, until_write):
                    os.close(one)
                # Otherwise the end of the fork between could count as the parent's death.
                os.read(until_read, 1)
                os.close(until_read)
                return 0
            os.write(answer, str(pid).encode())
        except BaseException as error:  # the fork must end here in any case
            os.write(answer, str(error).encode()[:4000])
        os._exit(0)
    os.close(answer)
    os.close(until_read)
    text = os.read(answers, 4096).decode()
    os.waitpid(between, 0)
    os.close(answers)
    os.close(until_write)
    if not text.isdigit():
        raise OSError(f"the kernel refuses a user namespace: {text or 'out of memory'}")
    return int(text)


def _make_user_namespace() -> None:
    """Enter a new user namespace, in which this process has all capabilities, with its own user and group only."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def _become_init(spec: SandboxSpec, answer: socket.socket) -> NoReturn:
    """Build the sandbox, report on `answer`, and reap until killed."""
    try:
        os.setsid()
        kernel.unshare(_SHARED)
        if spec.network:
            with Path(spec.network).open("rb") as network:
                kernel.enter_namespace(network.fileno(), kernel.CLONE_NEWNET)
        namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in _NAMESPACES]
        kernel.set_hostname(spec.hostname)
        build_root(spec, spec.place)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGCHLD})
        drop_to(spec.user)
        socket.send_fds(answer, [_READY], namespaces)
        os.closerange(0, 1 << 20)
        _reap_forever()
    except BaseException as error:  # the fork must end here in any case
        # An error of the kernel names what it refused only as text.
        answer.send((str(error) if isinstance(error, OSError) else repr(error)).encode()[:4000])
    finally:
        os._exit(1)


def _reap_forever() -> NoReturn:
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigwait({signal.SIGCHLD})
