"""What is said where a framework is not installed: each has its extra, and `import muster` needs none."""

KERAS_BACKENDS = ("tensorflow", "jax")


def missing(extra: str, error: ImportError) -> ImportError:
    """The error to raise instead, which says what to do.

    It names a checkout: `muster` on PyPI is another project's. Where Keras is there, its backend is missing, by default TensorFlow.
    """
    todo = f"pip install './sdk[{extra}]' in a checkout of Muster"
    if extra == "keras" and (error.name or "").partition(".")[0] in KERAS_BACKENDS:
        todo = "set KERAS_BACKEND=torch before keras is imported, or install that backend"
    text = f"muster.{extra} needs what is not installed here ({error}); {todo}"
    return ImportError(text, name=error.name)
