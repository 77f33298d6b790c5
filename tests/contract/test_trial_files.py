"""Only `worker/sandbox/trial_files.py` opens, lists or moves files of trials: every other module that touches files is listed here."""

import ast
from pathlib import Path

WORKER = Path(__file__).parents[2] / "worker"
OWN = {
    "connection/daemon_start.py": "the daemon's log",
    "connection/identity.py": "the worker's key and credentials",
    "connection/join_command.py": "the settings of the worker",
    "environments/environments.py": "environments and the requirements file, before the trial starts",
    "environments/install_command.py": "/proc",
    "environments/images.py": "the engine's file of credentials, in a folder of the worker's own",
    "environments/pulled_images.py": "the record of images, in the worker's own folder",
    "executors/local_processes.py": "/proc",
    "executors/parents.py": "the warm parent's log, and /proc",
    "executors/seccomp_profile.py": "the filter of system calls, in the worker's own folder",
    "executors/start_failures.py": "the warm parent's log",
    "journal/journal.py": "the journal",
    "journal/logs.py": "the offsets beside the journal",
    "machine/cgroups.py": "control groups",
    "machine/isolation.py": "what the worker offers, for `muster status`",
    "machine/machine_id.py": "/proc",
    "machine/oom_kills.py": "control groups",
    "paths.py": "the daemon's lock",
    "runs/preparing/prepare.py": "the sign that processes of the run may have started, in the folder of the worker",
    "ranks/launch/trial_file.py": "the trial file, before the trial starts",
    "runs/containers.py": "the resolv.conf of a container, before the trial starts",
    "runs/watching/hangs.py": "the file of heartbeats, before the trial starts",
    "runs/watching/profiling.py": "the file of timings, before the trial starts",
    "sandbox/accounts.py": "folders that get their owner, before the trial starts",
    "sandbox/capabilities.py": "/proc",
    "sandbox/contents.py": "the machine's GPUs and Python's folders",
    "sandbox/network/commands.py": "/proc/sys",
    "sandbox/network/forwarding.py": "the machine's lock",
    "sandbox/network/namespaces.py": "the files of network namespaces",
    "sandbox/network/resolver.py": "the machine's resolv.conf",
    "sandbox/network/run_networks.py": "records of networks",
    "sandbox/refusal.py": "a temporary folder of its own, and settings of the kernel",
    "sandbox/taken_space.py": "/proc",
    "sandbox/trial_files.py": "what trials own",
    "sandbox/uids.py": "the user id beside the run's record",
    "store/store.py": "the worker's records, and runs that are deleted",
    "transfer/cache.py": "the cache",
    "transfer/cache_space.py": "the cache",
    "transfer/checkpoints/uploads.py": "records of uploads",
    "transfer/code.py": "the code cache",
    "transfer/copying.py": "code, copied for a run that has not started",
    "transfer/http.py": "downloads of a run that has not started",
    "transfer/media/packing.py": "the pack that is sent",
    "transfer/media/sending.py": "the record of packs",
}
"""Modules that use paths, and what they use them for."""
PATH_METHODS = {
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_text",
    "iterdir",
    "glob",
    "rglob",
    "rename",
    "touch",
}
SHUTIL = {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"}
OS = {"open", "walk", "fwalk", "scandir", "listdir", "rename", "replace", "link"}


def test_no_other_module_touches_files_by_path() -> None:
    found = {
        path.relative_to(WORKER).as_posix()
        for path in WORKER.rglob("*.py")
        if any(map(_touches_a_file, ast.walk(ast.parse(path.read_text()))))
    }
    assert found - OWN.keys() == set(), "open the files of trials with worker.sandbox.trial_files"
    assert OWN.keys() - found == set(), "these modules touch no file any more: remove them from the list"


def _touches_a_file(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id == "open"
    if not isinstance(called, ast.Attribute):
        return False
    owner = called.value.id if isinstance(called.value, ast.Name) else ""
    if owner in ("os", "shutil"):
        return called.attr in (OS if owner == "os" else SHUTIL)
    # `TrialFile.open` has no argument; `str.replace` has two, `Path.replace` one.
    is_opened = called.attr == "open" and bool(node.args or node.keywords)
    is_moved = called.attr == "replace" and len(node.args) == 1 and not node.keywords
    return is_opened or is_moved or called.attr in PATH_METHODS
