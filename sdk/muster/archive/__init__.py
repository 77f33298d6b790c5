"""Code snapshots: a folder as a deterministic tar.gz, and its safe extraction.

The command line packs, the gateway inspects, the worker extracts, and the registry lists archives, all with the same limits.
Archives contain regular files and directories only; links, devices and sparse files are refused.
"""

from muster.archive._contents import ArchivedFile, list_files, read_file
from muster.archive._entrypoint import check_entrypoint
from muster.archive._limits import DEFAULT_LIMITS, ArchiveLimits
from muster.archive._pack import Archive, pack
from muster.archive._unpack import Contents, extract, inspect

__all__ = [
    "DEFAULT_LIMITS",
    "Archive",
    "ArchivedFile",
    "Contents",
    "ArchiveLimits",
    "check_entrypoint",
    "extract",
    "inspect",
    "list_files",
    "pack",
    "read_file",
]
