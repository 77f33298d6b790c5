"""`load_config`: turn user input into an `ExperimentConfig`, or raise an error with its position."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from muster.config.base_section import ACCEPTED
from muster.config.determined_translation import translate
from muster.config.experiment import ExperimentConfig
from muster.config.overrides import apply_overrides
from muster.config.yaml_reader import Document, Path, read_mapping, read_text
from muster.errors import Rejected, describe_fault

Source: TypeAlias = str | bytes | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A config with its warnings.

    Attributes:
        warnings: Keys that behave differently than in Determined: the key, what happens instead, what to do.
        has_secret: Whether a removed key held a secret, so that the source text must not be stored.
    """

    config: ExperimentConfig
    warnings: tuple[str, ...] = ()
    has_secret: bool = False


def load_config(source: Source, overrides: Iterable[str] = ()) -> ExperimentConfig:
    """Read, validate and complete an experiment config; `read_config` also returns warnings.

    Args:
        source: YAML or JSON text, or a mapping of plain values, which is not changed.
        overrides: Entries `key.path=value`, applied to the source in order.

    Raises:
        Rejected: The config is invalid. `place` holds the path, and the line and column or the override where the value was
            written; most errors have a `hint`. Of several errors, the first is reported.
    """
    return validate_document(load_document(source, overrides))


def read_config(source: Source, overrides: Iterable[str] = ()) -> LoadedConfig:
    """Read, validate and complete an experiment config of Muster or Determined; raises `Rejected` as `load_config` does."""
    return read_document(load_document(source, overrides))


def load_document(source: Source, overrides: Iterable[str] = ()) -> Document:
    """Parse `source` and apply `overrides`, without validating any key."""
    document = read_mapping(source) if isinstance(source, Mapping) else read_text(source)
    apply_overrides(document, overrides)
    return document


def load_accepted(source: Source) -> ExperimentConfig:
    """Read the config of an existing experiment, as `load_config` returned it.

    Rules are not applied, so that rules added later do not break existing experiments. Raises `Rejected` if it is not a config.
    """
    return _validated(load_document(source), ACCEPTED)


def validate_document(document: Document) -> ExperimentConfig:
    """Validate `document` against the schema; raises `Rejected` as `load_config` does."""
    return read_document(document).config


def read_document(document: Document) -> LoadedConfig:
    """Validate `document`, which is not changed, against the schema; raises `Rejected` as `load_config` does."""
    translated = translate(document.root)
    config = _validated(Document(translated.root, document.positions))
    return LoadedConfig(config, tuple(translated.warnings), translated.has_secret)


def _validated(document: Document, context: str | None = None) -> ExperimentConfig:
    if not document.root:
        raise Rejected(
            "missing_key", "the config is empty", hint="a config needs an entrypoint and a searcher"
        )
    try:
        return ExperimentConfig.model_validate(document.root, context=context)
    except ValidationError as error:
        # A default derived from another key is missing when that key is invalid.
        found = error.errors(include_url=False)
        details = [each for each in found if each["type"] != "default_factory_not_called"]
        raise _rejected(document, details[0], len(details) - 1) from None


def check_partial(values: Mapping[str, JsonValue], place: str) -> None:
    """Validate a partial config; missing keys are not an error.

    Raises:
        Rejected: As in `load_config`; its place starts with `place`.
    """
    document = read_mapping(values)
    try:
        ExperimentConfig.model_validate(translate(document.root).root)
    except ValidationError as error:
        details = [each for each in error.errors(include_url=False) if each["type"] not in _YET_TO_COME]
        if details:
            found = _rejected(document, details[0], len(details) - 1)
            raise Rejected(found.code, found.message, f"{place}.{found.place}", found.hint) from None


def _rejected(document: Document, detail: ErrorDetails, others: int) -> Rejected:
    context: dict[str, JsonValue] = detail.get("ctx", {})
    at = context.get("at")
    path = (*_own_path(detail["loc"]), *(at if isinstance(at, list) else ()))
    message, hint, code = (
        describe_fault(detail["type"], detail["msg"], context),
        context.get("hint"),
        "invalid_value",
    )
    if detail["type"] in _OUR_CODES:
        code, message = detail["type"], detail["msg"]
    elif detail["type"] == "missing":
        code, message = "missing_key", f"the key '{path[-1]}' is missing"
    elif detail["type"].endswith("_type"):
        code = "invalid_type"
    if others:
        message += f" (and {others} more errors)"
    return Rejected(code, message, document.place(_known(path)), str(hint) if hint else None)


_YET_TO_COME = ("missing", "missing_key", "default_factory_not_called")
_OUR_CODES = ("invalid_value", "unknown_key", "missing_key", "unsupported_key", "unknown_searcher")


def _own_path(location: tuple[int | str, ...]) -> Path:
    """Return the location without the names that pydantic adds for branches of a union."""
    return tuple(
        part for part in location if not (isinstance(part, str) and part.startswith(("<", "function-")))
    )


def _known(path: tuple[JsonValue, ...]) -> Path:
    return tuple(part for part in path if isinstance(part, str | int))
