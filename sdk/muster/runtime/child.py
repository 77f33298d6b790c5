"""A forked process, from the fork to its exit code. It never returns into the parent's loop."""

import atexit
import builtins
import errno
import gc
import io
import os
import runpy
import signal
import stat
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NoReturn

from muster._buffered_output import settle, tolerate_full_disk
from muster.runtime import isolation, malloc_environment
from muster.runtime.entrypoint import ExternalCommand, Module, Script, read_entrypoint
from muster.runtime.sandbox.sandboxes import Sandbox, drop_to
from muster.runtime.start_report import StartReport
from muster.wire import EXIT_DISK_FULL, Launch, is_disk_full, read_launch

CANNOT_START = 126
_OF_MACHINE = frozenset({errno.EIO, errno.EROFS, errno.ENFILE})
"""Errors of the trial's files and folders that the trial cannot have caused."""


def become_rank(file: str, sandbox: Sandbox | None, report: StartReport) -> NoReturn:
    """Turn this fork into the process that a file describes (`Launch`). If it cannot start, `report` says why."""
    code, launch, can_be_spoiled = CANNOT_START, None, False
    try:
        launch = read_launch(file)
        isolation.enter_groups(launch.cgroups)
        if sandbox is not None:
            isolation.set_niceness(launch.niceness)
            isolation.prefer_as_victim()
            sandbox.enter()
            isolation.set_limits(launch.limits, are_final=True)
            drop_to(sandbox.user)
        can_be_spoiled = True  # processes of the run may have changed what follows, or limit this one
        _redirect(launch.stdout, launch.stderr)
        report.close_others()
        if sandbox is None:  # the warm parent of a container cannot be traced; its report is never believed
            isolation.allow_debugging()
            isolation.set_niceness(launch.niceness)
        isolation.reset_signals()
        os.umask(0o022)
        os.chdir(launch.directory)
        os.environ.clear()
        os.environ.update(launch.environment)
        if sandbox is None:
            can_be_spoiled = False
            isolation.set_limits(launch.limits, are_final=False)
            isolation.drop_privileges(launch.user, launch.group)
        report.close()
        if sandbox is not None:
            isolation.allow_debugging()
        interpreter = launch.interpreter or sys.executable
        entrypoint = read_entrypoint(launch.command, interpreter)
        if isinstance(entrypoint, ExternalCommand):
            _execute(entrypoint.argv)
        elif launch.interpreter or isolation.shadowed_modules(launch.directory):
            _execute(_cold_argv(entrypoint, interpreter))
        else:
            code = _run_warm(entrypoint, launch)
    except OSError as error:
        command = launch.command if launch else "the process"
        print(f"muster: {command!r} cannot be started: {error}", file=sys.stderr)
        code = _code_without_start(error)
        if code != EXIT_DISK_FULL:
            report.write(error, is_spoiled=can_be_spoiled and error.errno not in _OF_MACHINE)
    except BaseException as error:  # the fork must end here in any case
        traceback.print_exc()
        report.write(error, is_spoiled=can_be_spoiled)
    finally:
        _flush()
        os._exit(code)


def _redirect(stdout: str, stderr: str) -> None:
    # Without a sandbox the process may still be root, and an earlier process of the trial may have replaced a file.
    output = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    for descriptor, path in ((0, os.devnull), (1, stdout), (2, stderr)):
        opened = os.open(path, os.O_RDONLY if descriptor == 0 else output, 0o644)
        status = os.fstat(opened)
        if descriptor > 0 and (not stat.S_ISREG(status.st_mode) or status.st_nlink != 1):
            raise OSError(errno.EINVAL, "not a regular file with one name", path)
        os.dup2(opened, descriptor)
        if opened > 2:
            os.close(opened)
    tolerate_full_disk()


def _code_without_start(error: OSError) -> int:
    if is_disk_full(error):
        return EXIT_DISK_FULL
    return 127 if isinstance(error, FileNotFoundError) else CANNOT_START


def _execute(argv: tuple[str, ...]) -> NoReturn:
    for number in (
        signal.SIGPIPE,
        signal.SIGXFSZ,
    ):  # Python ignores these signals; other programs rely on them
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], argv)  # noqa: S606 - the fork is already there


def _cold_argv(entrypoint: Script | Module, interpreter: str) -> tuple[str, ...]:
    if isinstance(entrypoint, Module):
        return (interpreter, "-u", "-m", entrypoint.name, *entrypoint.arguments)
    return (interpreter, "-u", entrypoint.path, *entrypoint.arguments)


def _run_warm(entrypoint: Script | Module, launch: Launch) -> int:
    isolation.reset_randomness()
    tempfile.tempdir = None  # the parent may have chosen its own
    _limit_threads(launch.threads)
    malloc_environment.obey_environment()
    folder = launch.directory
    if isinstance(entrypoint, Script):
        folder = str(Path(entrypoint.path).absolute().parent)
    sys.path[:] = [folder, *(entry for entry in sys.path if entry and entry != folder)]
    isolation.hide_platform(folder)
    gc.enable()
    code = _exit_code_of(entrypoint)
    # As at interpreter exit (threads, exit functions, buffers), but without tearing down a gigabyte of modules.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code


def _exit_code_of(entrypoint: Script | Module) -> int:
    try:
        _run(entrypoint)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:  # user code is called
        kind, trace = type(error), _users_part(error.__traceback__)
        sys.excepthook(kind, error.with_traceback(trace), trace)
        return EXIT_DISK_FULL if is_disk_full(error) else 1
    return 0


def _run(entrypoint: Script | Module) -> None:
    if isinstance(entrypoint, Module):
        sys.argv = [entrypoint.name, *entrypoint.arguments]
        runpy.run_module(entrypoint.name, run_name="__main__", alter_sys=True)
        return
    sys.argv = [entrypoint.path, *entrypoint.arguments]
    try:
        with io.open_code(str(Path(entrypoint.path).absolute())) as source:
            code = compile(source.read(), entrypoint.path, "exec")
    except OSError as error:
        print(f"muster: can't open file {entrypoint.path!r}: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    # A real __main__ that stays: the script's classes can be pickled, and its globals outlive its last line.
    main = ModuleType("__main__")
    main.__dict__.update(__file__=entrypoint.path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)  # noqa: S102 - the user's script, in the user's process


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _limit_threads(threads: int) -> None:
    torch = sys.modules.get("torch")
    if threads and torch is not None:
        torch.set_num_threads(threads)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    settle()
