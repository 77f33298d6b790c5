"""Error messages for missing frameworks: each has an extra, and `import muster` needs none."""

KERAS_BACKENDS = ("tensorflow", "jax")


def missing(extra: str, error: ImportError) -> ImportError:
    """Return an ImportError that says how to install the extra.

    The command installs from a checkout, because `muster` on PyPI is another project. If Keras is installed, its backend is
    missing; Keras uses TensorFlow by default.
    """
    todo = f"pip install './sdk[{extra}]' in a checkout of Muster"
    if extra == "keras" and (error.name or "").partition(".")[0] in KERAS_BACKENDS:
        todo = "set KERAS_BACKEND=torch before keras is imported, or install that backend"
    text = f"muster.{extra} needs a package that is not installed ({error}): {todo}"
    return ImportError(text, name=error.name)
