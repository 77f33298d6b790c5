"""Which version of the platform this is, and which others it works with."""

from importlib.metadata import PackageNotFoundError, version

from shared.errors import Rejected

DISTRIBUTION = "muster-platform"


def platform_version() -> str:
    """As it was installed; `0` where it runs from files that nobody installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"


def check_fits(worker: str, platform: str) -> None:
    """Raises Rejected where a worker of one version cannot serve a platform of another: the first two numbers are the same, or it cannot."""
    if worker.split(".")[:2] != platform.split(".")[:2]:
        wanted = ".".join(platform.split(".")[:2])
        raise Rejected(
            "version_mismatch",
            f"this worker is {DISTRIBUTION} {worker}, the platform is {platform}",
            "version",
            f"install {DISTRIBUTION} {wanted}.* on the machine",
        )
