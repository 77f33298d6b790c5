"""`python -m deploy.packages FOLDER`: builds the files of the gateway's package index."""

import sys
from pathlib import Path

from deploy.horovod.toolchain import SetupFailed
from deploy.packages.building import make_packages


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m deploy.packages FOLDER", file=sys.stderr)
        return 2
    try:
        made = make_packages(Path(arguments[0]))
    except SetupFailed as failure:
        print(f"the packages could not be built: {failure}", file=sys.stderr)
        return 1
    print("\n".join(map(str, made)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
