"""The catalogue file, YAML or JSON, read again when it has changed. `muster prices` updates its prices; they can also be edited."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import structlog
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.provisioner.core.catalogue import Catalogue, MachineKind, Offer
from shared.errors import Rejected
from shared.messages.trial_specs import SlotKind

_LARGEST_BYTES = 16 * 1024 * 1024
_log = structlog.get_logger()


class PriceEntry(BaseModel):
    """Prices of a kind in a zone; a purchase without a price is not offered.

    Attributes:
        taken_per_hour: Rate of spot interruptions.
        as_of: Day of the prices.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: str | None = None
    on_demand: float | None = Field(None, ge=0)
    spot: float | None = Field(None, ge=0)
    taken_per_hour: float = Field(0.0, ge=0)
    as_of: date | None = None


class KindEntry(BaseModel):
    """A machine kind, as its provider names it. Without `prices` it is offered at an unknown price."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    provider: str = Field(min_length=1, max_length=40)
    slots: int = Field(ge=1, le=4096)
    slot_kind: SlotKind = "cuda"
    gpu: str | None = None
    memory_gib: float | None = Field(None, gt=0)
    boot_s: float = Field(120.0, ge=0)
    prices: tuple[PriceEntry, ...] = ()

    def offers(self) -> list[Offer]:
        kind = MachineKind(
            self.name, self.provider, self.slots, self.slot_kind, self.gpu, self.memory_gib, self.boot_s
        )
        if not self.prices:
            return [Offer(kind)]
        found = []
        for price in self.prices:
            if price.on_demand is not None:
                found.append(Offer(kind, price.zone, "on_demand", price.on_demand, 0.0, price.as_of))
            if price.spot is not None:
                found.append(Offer(kind, price.zone, "spot", price.spot, price.taken_per_hour, price.as_of))
        return found


class CatalogueEntries(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: tuple[KindEntry, ...] = ()


class CatalogueFile:
    """The current catalogue file. If a change cannot be read, the last valid version stays in use.

    Attributes:
        trouble: Why the catalogue may be outdated; None: it matches the file.
    """

    def __init__(self, path: Path | None, own: Sequence[Offer] = ()) -> None:
        """Read the file. Raises Rejected (`bad_catalogue`) if it is invalid.

        `own` are offers of the process itself, in addition to the file.
        """
        self._path = path
        self._own = tuple(own)
        self._seen: tuple[int, int] | None = None
        self._known = Catalogue(self._own)
        self.trouble: str | None = None
        if path is not None:
            self._known = self._read(path)

    def now(self) -> Catalogue:
        """Return the catalogue, after reading the file again if its time or size has changed."""
        if self._path is not None and self._stamp(self._path) != self._seen:
            try:
                self._known = self._read(self._path)
                self.trouble = None
                _log.info("the catalogue was read", offers=len(self._known.offers))
            except Rejected as error:
                self.trouble = (
                    f"the catalogue cannot be read, so its last valid version stays in use: {error}"
                )
                _log.error(
                    "the catalogue cannot be read; its last valid version stays in use", error=str(error)
                )
        return self._known

    def _read(self, path: Path) -> Catalogue:
        self._seen = self._stamp(path)
        try:
            if path.stat().st_size > _LARGEST_BYTES:
                raise Rejected("bad_catalogue", f"{path} is larger than {_LARGEST_BYTES} bytes")
            entries = read_catalogue(path.read_text())
        except OSError as error:
            raise Rejected("bad_catalogue", f"the catalogue cannot be read: {error}") from error
        return Catalogue((*self._own, *(offer for kind in entries.kinds for offer in kind.offers())))

    def _stamp(self, path: Path) -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def read_catalogue(text: str) -> CatalogueEntries:
    """Parse the file. Raises Rejected (`bad_catalogue`) with the place of the first error."""
    try:
        found: Any = yaml.safe_load(text) or {}
        entries = CatalogueEntries.model_validate(found)
    except yaml.YAMLError as error:
        raise Rejected("bad_catalogue", f"the catalogue is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Rejected("bad_catalogue", first["msg"], place or None) from error
    names = [(kind.provider, kind.name) for kind in entries.kinds]
    twice = {name for provider, name in names if names.count((provider, name)) > 1}
    if twice or len({name for _, name in names}) < len(names):
        message = (
            f"kind names must be unique: {', '.join(sorted(twice)) or 'two providers share a kind name'}"
        )
        raise Rejected("bad_catalogue", message, "kinds")
    return entries
