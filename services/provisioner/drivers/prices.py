"""What a provider, or the site itself, says that machines cost. Neighbours: `aws/prices.py`, `gcp/prices.py`; asked by `muster prices` alone."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class Price:
    """Of a machine for an hour, as of a day; None: it is not sold so, or nothing is said. `zone` None: everywhere."""

    kind: str
    zone: str | None
    on_demand: float | None
    spot: float | None
    as_of: date


class SitePrice(BaseModel):
    """What the site reckons with for a kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    on_demand: float | None = Field(None, ge=0)
    spot: float | None = Field(None, ge=0)


class SitePrices(BaseModel):
    """A site's own file: of a cluster whose machines nobody sells by the hour."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: date
    kinds: dict[str, SitePrice]


def read_prices(path: Path, kinds: list[str]) -> list[Price]:
    """Those of the file that are asked for, by kind. Raises Rejected (`bad_prices`) with the place of the first fault."""
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
