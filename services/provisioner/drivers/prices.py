"""Prices of machines from a provider or from the site itself, for `muster prices`. See `aws/prices.py` and `gcp/prices.py`."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class Price:
    """Hourly prices of a machine on a day; None: not sold that way, or unknown. `zone` None: everywhere."""

    kind: str
    zone: str | None
    on_demand: float | None
    spot: float | None
    as_of: date


class SitePrice(BaseModel):
    """The site's prices of a machine kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    on_demand: float | None = Field(None, ge=0)
    spot: float | None = Field(None, ge=0)


class SitePrices(BaseModel):
    """A site's own price file, for clusters whose machines nobody sells by the hour."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: date
    kinds: dict[str, SitePrice]


def read_prices(path: Path, kinds: list[str]) -> list[Price]:
    """Return the file's prices of these kinds. Raises Rejected (`bad_prices`) with the place of the first error."""
    try:
        found = SitePrices.model_validate(yaml.safe_load(path.read_text()) or {})
    except OSError as error:
        raise Rejected("bad_prices", f"{path} cannot be read: {error.strerror}", "prices") from error
    except yaml.YAMLError as error:
        raise Rejected("bad_prices", f"{path} is not YAML: {error}", "prices") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Rejected("bad_prices", f"{path}: {first['msg']}", place) from error
    return [
        Price(kind, None, found.kinds[kind].on_demand, found.kinds[kind].spot, found.as_of)
        for kind in kinds
        if kind in found.kinds
    ]
