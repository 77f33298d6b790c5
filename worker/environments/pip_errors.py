"""Tells from pip's exit code, output and log whether the requirements are at fault. When in doubt, the platform is.

pip's last error does not tell: it finds "no matching distribution" also if the index did not answer.
"""

import re

_REPORTED = 1
"""pip's exit code for errors that it knows. Others: an error within pip (2), or a signal."""
_TROUBLE = re.compile(
    r"(?:"
    # The index or another server did not answer, or refused. 404 and 410 are answers: there is no such thing.
    r"Could not fetch URL (?!.*: (?:404|410) Client Error)"
    r"|HTTP error (?!404|410)\d{3}|is not a trusted or secure host|Skipping page \S+ because"
    r"|connection broken by|connection error|Connection (?:refused|reset|aborted|timed out)|Max retries exceeded"
    r"|Retrying \(|Read timed out|IncompleteRead|ProtocolError|SSLError|ProxyError|NewConnectionError"
    r"|Temporary failure in name resolution|Name or service not known|Could not resolve host|unable to access '"
    # The machine lacks something.
    r"|\[Errno (?:5|12|23|28|122)\]|No space left on device|Disk quota exceeded|Input/output error|Cannot allocate memory"
    r"|exit code: -9\b|Killed signal terminated|Cannot find command "
    r").*$",
    re.MULTILINE | re.IGNORECASE,
)
_DOWNLOADS = re.compile(r"^\s*Downloading ")
_MAX_CHARACTERS = 300


def find_trouble(code: int, output: str, *, is_stopped: bool) -> str:
    """Return what failed of the machine or the index; empty: what was to be installed is at fault. `is_stopped`: pip exceeded a limit."""
    if found := _TROUBLE.search(output):
        return found[0].strip()[:_MAX_CHARACTERS]
    if is_stopped:
        return "the download was slow" if _DOWNLOADS.match(output.rstrip().rpartition("\n")[2]) else ""
    return "" if code == _REPORTED else f"pip ended with exit code {code}"
