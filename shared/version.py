"""Version of the platform, and which worker versions are compatible."""

from importlib.metadata import PackageNotFoundError, version

from shared.errors import Rejected

DISTRIBUTION = "muster-platform"


def platform_version() -> str:
    """Return the installed version; `0` if the platform runs from files that were not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"


def check_fits(worker: str, platform: str) -> None:
    """Check that a worker is compatible with the platform: major and minor version must be equal.

    Raises:
        Rejected: The versions differ (`version_mismatch`).
    """
    if worker.split(".")[:2] != platform.split(".")[:2]:
        wanted = ".".join(platform.split(".")[:2])
        raise Rejected(
            "version_mismatch",
            f"the worker runs {DISTRIBUTION} {worker}, but the platform runs {platform}",
            "version",
            f"install {DISTRIBUTION} {wanted}.* on the machine",
        )
