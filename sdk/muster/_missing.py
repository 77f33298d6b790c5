"""What is said where a framework is not installed: each has its extra, and `import muster` needs none."""


def missing(extra: str, error: ImportError) -> ImportError:
    """The error to raise instead, which says what to install."""
    text = f"muster.{extra} needs what is not installed here ({error}); pip install 'muster[{extra}]'"
    return ImportError(text, name=error.name)
