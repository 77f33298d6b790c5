"""Code snapshots: a folder as a deterministic tar.gz, and its safe way back onto a disk.

The command line packs, the gateway inspects, the worker extracts; all three hold the same limits.
Regular files and directories only: links, devices and sparse files are refused, whatever their target.
"""

from muster.archive._limits import DEFAULT_LIMITS, Limits
from muster.archive._pack import Archive, pack
from muster.archive._unpack import Contents, extract, inspect

__all__ = ["DEFAULT_LIMITS", "Archive", "Contents", "Limits", "extract", "inspect", "pack"]
