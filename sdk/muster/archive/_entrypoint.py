"""Whether an archive holds what an entrypoint runs. Only what surely cannot start is refused; what may lie elsewhere is taken."""

import difflib
import heapq
import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from posixpath import basename, normpath, splitext

from muster.errors import Rejected

STARTUP_HOOK = "startup-hook.sh"
"""It runs before the entrypoint and may write what that needs."""
_LONGEST_CHARS = 2_000
"""Longer entrypoints are not checked: the gateway checks them between other requests."""
_SHOWN_FILES = 8
_SHOWN_CHARS = 120
_COMPARED_FILES = 50
_COMPARED_CHARS = 60
"""How much is compared for a similar name: the time grows with the files and with the square of the length."""
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_PYTHON_FLAGS = re.compile(r"-[uOBEsSvqibdx]+")
_PYTHON_OPTIONS = ("-W", "-X")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_SHELL_FLAGS = re.compile(r"-[eux]+")
_PROGRAM_LAUNCHERS = ("horovodrun", "mpirun", "mpiexec")
"""They start any program."""
_SCRIPT_LAUNCHERS = (
    "torchrun",
    "accelerate",
    "deepspeed",
    "torch.distributed.run",
    "torch.distributed.launch",
)
"""They start a Python script, or a module."""
_LAUNCHERS = (*_PROGRAM_LAUNCHERS, *_SCRIPT_LAUNCHERS)
_PREFIXES = ("exec", "nohup", "time")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_GOES_ON = ("&&", "|", "|&")
"""Behind these nothing runs that could have made the file before, or takes its place."""
_REDIRECTION = re.compile(r"[<>&]*[<>][<>&|]*")
_UNKNOWN = re.compile(r"[$`*?\[\]{}~\\]")
"""A word with one of these is known to the shell alone."""
_SEPARATORS = "();<>|&"


@dataclass(frozen=True, slots=True)
class _Needed:
    """Paths of which the code must hold one, the most usual first; of a module only where the code holds its package."""

    paths: tuple[str, ...]
    package: str | None = None


def check_entrypoint(entrypoint: object, files: Collection[str]) -> None:
    """Raise where the script or module that `entrypoint` runs belongs into the code folder and is not among its `files`.

    Scripts with a relative path, modules of a package of the code, and programs such as `./run.sh` are looked for, also behind
    launchers (`horovodrun`, `torchrun`), shells and redirections. Absolute paths, modules that may be installed, programs on the
    PATH and shell strings that do something before are taken as they are; so is everything where the code has a startup hook, and
    what is no command (the config's schema refuses that).

    Raises:
        Rejected: It cannot start; the message says which file it needs and what the code holds.
    """
    if STARTUP_HOOK in files:
        return
    if isinstance(entrypoint, str):
        shown = entrypoint
    elif isinstance(entrypoint, list | tuple) and all(isinstance(word, str) for word in entrypoint):
        if len(entrypoint) > _LONGEST_CHARS:
            return
        shown = shlex.join(entrypoint)
    else:
        return
    if len(shown) > _LONGEST_CHARS:
        return
    needed = _from_shell(shown) if isinstance(entrypoint, str) else _from_words(list(entrypoint))
    if needed is None or _holds(needed, files):
        return
    first = needed.paths[0]
    raise Rejected(
        "entrypoint_missing",
        f"the entrypoint `{_cut(shown)}` runs {_cut(first)}, and {_contents(files)}",
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
    words: list[str] = []
    rest = iter(tokens)
    for token in rest:
        if not set(token) <= set(_SEPARATORS):
            words.append(token)
        elif _REDIRECTION.fullmatch(token):
            if words and words[-1].isdigit():
                words.pop()
            next(rest, None)
        elif token in _GOES_ON:
            if any(other not in _GOES_ON for other in tokens if set(other) <= set("();|&")):
                return None
            break
        else:
            return None
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _PREFIXES):
        words.pop(0)
    return _from_words(words)


def _from_words(words: list[str]) -> _Needed | None:
    """What a simple command needs; None where nothing is sure."""
    if not words or _UNKNOWN.search(words[0]):
        return None
    program, rest = words[0], words[1:]
    if program == "env":
        while rest and (rest[0] == "env" or _ASSIGNMENT.fullmatch(rest[0])):
            rest = rest[1:]
        return _from_words(rest)
    if _PYTHON.fullmatch(program):
        return _of_python(rest)
    if basename(program) in _SHELLS:
        return _of_shell(rest)
    if basename(program) in _LAUNCHERS:
        return _of_launcher(rest, basename(program) in _SCRIPT_LAUNCHERS)
    if program.startswith("./") or "/" in program or program.endswith(".py"):
        return _script(program)
    return None


def _of_python(words: list[str]) -> _Needed | None:
    while words and words[0].startswith("-"):
        if words[0] == "-m" and len(words) > 1:
            if words[1] in _LAUNCHERS:
                return _of_launcher(words[2:], words[1] in _SCRIPT_LAUNCHERS)
            return _module(words[1])
        if words[0] in _PYTHON_OPTIONS and len(words) > 1:
            words = words[2:]
        elif _PYTHON_FLAGS.fullmatch(words[0]) or words[0][:2] in _PYTHON_OPTIONS:
            words = words[1:]
        else:
            return None
    return _script(words[0]) if words else None


def _of_shell(words: list[str]) -> _Needed | None:
    while words and _SHELL_FLAGS.fullmatch(words[0]):
        words = words[1:]
    if len(words) > 1 and re.fullmatch(r"-[eux]*c", words[0]):
        return _from_shell(words[1])
    # A shell looks for a bare name on the PATH too; a script there has no suffix.
    is_sure = bool(words) and ("/" in words[0] or words[0].endswith((".sh", ".bash")))
    return _script(words[0]) if is_sure else None


def _of_launcher(words: list[str], runs_scripts: bool) -> _Needed | None:
    """What behind a launcher's own options it starts. Which of these have a value is not known, so a `.py` word may be one."""
    paths: list[str] = []
    for place, word in enumerate(words):
        if _PYTHON.fullmatch(word) or basename(word) in _SHELLS:
            inner = _from_words(words[place:])
            if not paths or inner is None:
                return inner
            return None if inner.package else _Needed((*paths, *inner.paths))
        if word in ("-m", "--module", "--no_python", "--no-python"):
            return None
        if runs_scripts and word.endswith(".py") and not word.startswith("-") and "=" not in word:
            script = _script(word)
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
    # Not in the code, or a package without __init__.py: an installed one has the name, or goes before it.
    if f"{needed.package}.py" not in files and f"{needed.package}/__init__.py" not in files:
        return True
    compiled = needed.paths[0].removesuffix("py")
    return any(name.startswith(compiled) for name in files)


def _contents(files: Collection[str]) -> str:
    if not files:
        return "the experiment has no code"
    names = heapq.nsmallest(_SHOWN_FILES, files)
    more = f" and {len(files) - _SHOWN_FILES} more" if len(files) > _SHOWN_FILES else ""
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return f"the code does not hold it; it holds {count}: {', '.join(map(_cut, names))}{more}"


def _hint(needed: str, files: Collection[str]) -> str:
    wanted = basename(needed)
    close = [name for name in files if basename(name) == wanted] or _similar(wanted, files)
    send = f"send the folder in which {_cut(needed)} lies (`muster experiment create CONFIG FOLDER`)"
    if close:
        return f"did you mean {_cut(min(close, key=lambda name: (len(name), name)))}? Correct the entrypoint, or {send}"
    return f"{send}, or correct the entrypoint; what an ignore file names is not sent"


def _similar(wanted: str, files: Collection[str]) -> list[str]:
    """The file whose own name is most like `wanted`, among the first with its suffix."""
    suffix = splitext(wanted)[1]
    compared = heapq.nsmallest(_COMPARED_FILES, (name for name in files if name.endswith(suffix)))
    by_name = {basename(name)[:_COMPARED_CHARS]: name for name in compared}
    found = difflib.get_close_matches(wanted[:_COMPARED_CHARS], by_name, n=1, cutoff=0.7)
    return [by_name[name] for name in found]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
