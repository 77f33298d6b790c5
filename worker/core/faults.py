"""The error that tells the user's fault from the platform's."""

from muster.errors import Rejected


class CausedByTrial(Rejected):
    """The trial's config, code or files are the cause: the run is charged to its user. All other errors are the platform's."""
