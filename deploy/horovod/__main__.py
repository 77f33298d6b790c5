"""`python -m deploy.horovod`: installs Horovod into the running environment; builds its wheel once per machine."""

import sys
from importlib.metadata import PackageNotFoundError, version

from deploy.horovod.toolchain import HOROVOD_VERSION, SetupFailed, find_toolchain
from deploy.horovod.wheel import cached_wheel, install


def main() -> int:
    try:
        toolchain = find_toolchain()
        if _installed() == toolchain.local_version:
            return 0
        install(cached_wheel(toolchain))
    except SetupFailed as failure:
        print(f"Horovod could not be installed: {failure}", file=sys.stderr)
        return 1
    return 0


def _installed() -> str | None:
    try:
        installed = version("horovod")
    except PackageNotFoundError:
        return None
    return installed.removeprefix(f"{HOROVOD_VERSION}+")


if __name__ == "__main__":
    sys.exit(main())
