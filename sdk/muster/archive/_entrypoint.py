"""Check that an archive contains the script or module of an entrypoint. Only entrypoints that certainly cannot start are refused."""

import difflib
import heapq
import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from posixpath import basename, normpath, splitext

from muster.errors import Rejected

STARTUP_HOOK = "startup-hook.sh"
"""Runs before the entrypoint and may create its files."""
_LONGEST_CHARS = 2_000
"""Longer entrypoints are not checked, to bound the time in the gateway."""
_MAX_LISTED_FILES = 8
_MAX_LISTED_CHARS = 120
_COMPARED_FILES = 50
_COMPARED_CHARS = 60
"""Limits of the search for similar names: its time grows with the number of files and with the square of the length."""
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_PYTHON_FLAGS = re.compile(r"-[uOBEsSvqibdx]+")
_PYTHON_OPTIONS = ("-W", "-X")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_SHELL_FLAGS = re.compile(r"-[eux]+")
_PROGRAM_LAUNCHERS = ("horovodrun", "mpirun", "mpiexec")
"""Launchers of any program."""
_SCRIPT_LAUNCHERS = (
    "torchrun",
    "accelerate",
    "deepspeed",
    "torch.distributed.run",
    "torch.distributed.launch",
)
"""Launchers of a Python script or module."""
_LAUNCHERS = (*_PROGRAM_LAUNCHERS, *_SCRIPT_LAUNCHERS)
_PREFIXES = ("exec", "nohup", "time")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_CHAINING = ("&&", "|", "|&")
"""Operators after which no command can create or replace the file before it is run."""
_REDIRECTION = re.compile(r"[<>&]*[<>][<>&|]*")
_UNKNOWN = re.compile(r"[$`*?\[\]{}~\\]")
"""Characters that only a shell can interpret."""
_SEPARATORS = "();<>|&"


@dataclass(frozen=True, slots=True)
class _Needed:
    """Paths of which the code must contain one, most usual first; for modules, only if the code contains the package."""

    paths: tuple[str, ...]
    package: str | None = None


def check_entrypoint(entrypoint: object, files: Collection[str]) -> None:
    """Raise if the script or module that `entrypoint` runs belongs to the code folder but is not among its `files`.

    Checked are scripts with a relative path, modules of a package in the code, and programs such as `./run.sh`, also behind
    launchers (`horovodrun`, `torchrun`), shells and redirections. Not checked are absolute paths, modules that may be installed,
    programs on the PATH, shell strings with preceding commands, code with a startup hook, and values that are not a command
    (the config's schema refuses those).

    Raises:
        Rejected: The entrypoint cannot start; the message names the missing file and the content of the code.
    """
    if STARTUP_HOOK in files:
        return
    if isinstance(entrypoint, str):
        full_command = entrypoint
    elif isinstance(entrypoint, list | tuple) and all(isinstance(argument, str) for argument in entrypoint):
        if len(entrypoint) > _LONGEST_CHARS:
            return
        full_command = shlex.join(entrypoint)
    else:
        return
    if len(full_command) > _LONGEST_CHARS:
        return
    needed = _from_shell(full_command) if isinstance(entrypoint, str) else _from_arguments(list(entrypoint))
    if needed is None or _holds(needed, files):
        return
    first = needed.paths[0]
    raise Rejected(
        "entrypoint_missing",
        f"the entrypoint `{_cut(full_command)}` runs {_cut(first)}, but {_contents(files)}",
        place="entrypoint",
        hint=_hint(first, files),
    )


def _from_shell(command: str) -> _Needed | None:
    text = command.replace("\\\n", " ").strip()
    if "\n" in text:
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_SEPARATORS)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    arguments: list[str] = []
    rest = iter(tokens)
    for token in rest:
        if not set(token) <= set(_SEPARATORS):
            arguments.append(token)
        elif _REDIRECTION.fullmatch(token):
            if arguments and arguments[-1].isdigit():
                arguments.pop()
            next(rest, None)
        elif token in _CHAINING:
            if any(other not in _CHAINING for other in tokens if set(other) <= set("();|&")):
                return None
            break
        else:
            return None
    while arguments and (_ASSIGNMENT.fullmatch(arguments[0]) or arguments[0] in _PREFIXES):
        arguments.pop(0)
    return _from_arguments(arguments)


def _from_arguments(arguments: list[str]) -> _Needed | None:
    """Return the requirements of a simple command; None if they are uncertain."""
    if not arguments or _UNKNOWN.search(arguments[0]):
        return None
    program, rest = arguments[0], arguments[1:]
    if program == "env":
        while rest and (rest[0] == "env" or _ASSIGNMENT.fullmatch(rest[0])):
            rest = rest[1:]
        return _from_arguments(rest)
    if _PYTHON.fullmatch(program):
        return _of_python(rest)
    if basename(program) in _SHELLS:
        return _of_shell(rest)
    if basename(program) in _LAUNCHERS:
        return _of_launcher(rest, basename(program) in _SCRIPT_LAUNCHERS)
    if program.startswith("./") or "/" in program or program.endswith(".py"):
        return _script(program)
    return None


def _of_python(arguments: list[str]) -> _Needed | None:
    while arguments and arguments[0].startswith("-"):
        if arguments[0] == "-m" and len(arguments) > 1:
            if arguments[1] in _LAUNCHERS:
                return _of_launcher(arguments[2:], arguments[1] in _SCRIPT_LAUNCHERS)
            return _module(arguments[1])
        if arguments[0] in _PYTHON_OPTIONS and len(arguments) > 1:
            arguments = arguments[2:]
        elif _PYTHON_FLAGS.fullmatch(arguments[0]) or arguments[0][:2] in _PYTHON_OPTIONS:
            arguments = arguments[1:]
        else:
            return None
    return _script(arguments[0]) if arguments else None


def _of_shell(arguments: list[str]) -> _Needed | None:
    while arguments and _SHELL_FLAGS.fullmatch(arguments[0]):
        arguments = arguments[1:]
    if len(arguments) > 1 and re.fullmatch(r"-[eux]*c", arguments[0]):
        return _from_shell(arguments[1])
    # A shell also searches the PATH for a bare name; scripts there have no suffix.
    is_sure = bool(arguments) and ("/" in arguments[0] or arguments[0].endswith((".sh", ".bash")))
    return _script(arguments[0]) if is_sure else None


def _of_launcher(arguments: list[str], runs_scripts: bool) -> _Needed | None:
    """Return the requirements of a launcher's command. Its options may take `.py` values, so any `.py` argument may be the script."""
    paths: list[str] = []
    for index, argument in enumerate(arguments):
        if _PYTHON.fullmatch(argument) or basename(argument) in _SHELLS:
            inner = _from_arguments(arguments[index:])
            if not paths or inner is None:
                return inner
            return None if inner.package else _Needed((*paths, *inner.paths))
        if argument in ("-m", "--module", "--no_python", "--no-python"):
            return None
        if runs_scripts and argument.endswith(".py") and not argument.startswith("-") and "=" not in argument:
            script = _script(argument)
            if script is None:
                return None
            paths += script.paths
    return _Needed(tuple(paths)) if paths else None


def _script(path: str) -> _Needed | None:
    whole = normpath(path)
    if _UNKNOWN.search(path) or whole.startswith(("/", "..")) or path.startswith("-") or whole == ".":
        return None
    return _Needed((whole, f"{whole}/__main__.py"))


def _module(name: str) -> _Needed | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    path = name.replace(".", "/")
    return _Needed((f"{path}.py", f"{path}/__main__.py"), package=name.partition(".")[0])


def _holds(needed: _Needed, files: Collection[str]) -> bool:
    if any(path in files for path in needed.paths):
        return True
    if needed.package is None:
        return False
    # Not in the code, or a package without __init__.py: an installed package of that name takes precedence.
    if f"{needed.package}.py" not in files and f"{needed.package}/__init__.py" not in files:
        return True
    compiled = needed.paths[0].removesuffix("py")
    return any(name.startswith(compiled) for name in files)


def _contents(files: Collection[str]) -> str:
    if not files:
        return "the experiment has no code"
    names = heapq.nsmallest(_MAX_LISTED_FILES, files)
    more = f" and {len(files) - _MAX_LISTED_FILES} more" if len(files) > _MAX_LISTED_FILES else ""
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return f"the code does not contain it; the code has {count}: {', '.join(map(_cut, names))}{more}"


def _hint(needed: str, files: Collection[str]) -> str:
    wanted = basename(needed)
    close = [name for name in files if basename(name) == wanted] or _similar(wanted, files)
    send = f"upload the folder that contains {_cut(needed)} (`muster experiment create CONFIG FOLDER`)"
    if close:
        return f"did you mean {_cut(min(close, key=lambda name: (len(name), name)))}? Correct the entrypoint, or {send}"
    return f"{send}, or correct the entrypoint; files named in an ignore file are not uploaded"


def _similar(wanted: str, files: Collection[str]) -> list[str]:
    """Return the file whose name is most similar to `wanted`, among the first files with its suffix."""
    suffix = splitext(wanted)[1]
    compared = heapq.nsmallest(_COMPARED_FILES, (name for name in files if name.endswith(suffix)))
    by_name = {basename(name)[:_COMPARED_CHARS]: name for name in compared}
    found = difflib.get_close_matches(wanted[:_COMPARED_CHARS], by_name, n=1, cutoff=0.7)
    return [by_name[name] for name in found]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LISTED_CHARS else f"{text[:_MAX_LISTED_CHARS]}…"
