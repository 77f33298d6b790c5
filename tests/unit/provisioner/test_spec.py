"""A pool's definition against the catalogue: what it may rent, and every refusal with its place and the way out."""

from pathlib import Path

import pytest

from services.provisioner.core.catalogue import Catalogue
from services.provisioner.core.planning.pool_status import Demand
from services.provisioner.core.renting.pool_spec import SpotRule
from services.provisioner.pools.catalogue import CatalogueFile, read_catalogue
from services.provisioner.pools.current_pools import Pools
from services.provisioner.pools.definitions import resolve
from services.provisioner.store import PoolRecord
from shared.errors import Rejected
from shared.messages.machine_pools import PoolDefinition
from tests.unit.provisioner.world import POOL, spec

FILE = """
kinds:
  - {name: small, provider: aws, slots: 1, gpu: T4, prices: [{zone: a, on_demand: 1.0, spot: 0.3}, {zone: b, on_demand: 1.1, spot: 0.4}]}
  - {name: large, provider: aws, slots: 8, gpu: T4, boot_s: 300, prices: [{zone: a, on_demand: 7.0}]}
  - {name: core, provider: slurm, slots: 1, slot_kind: cpu}
"""
CATALOGUE = Catalogue([offer for kind in read_catalogue(FILE).kinds for offer in kind.offers()])


def define(**facts: object) -> PoolDefinition:
    return PoolDefinition.model_validate({"kinds": ["small"], "maximum": 4} | facts)


def test_a_pool_may_rent_its_kinds_in_its_zones_and_spot_where_it_has_a_share() -> None:
    def labels(**facts: object) -> list[str]:
        return [offer.label for offer in resolve(POOL, define(**facts), CATALOGUE).offers]

    assert labels() == ["small in a", "small in b"]
    assert labels(zones=["b", "a"]) == ["small in b", "small in a"]
    assert labels(zones=["b"], spot_share=0.5) == ["spot small in b", "small in b"]
    assert labels(kinds=["large", "small"], zones=["a"]) == ["large in a", "small in a"]
    assert labels(kinds=["core"], order="given") == ["core"]


@pytest.mark.parametrize(
    ("facts", "code", "place", "says"),
    [
        ({"kinds": []}, "bad_pool", "kinds", "names no machine kind"),
        ({"kinds": ["smal"]}, "unknown_kind", "kinds", "did you mean 'small'"),
        ({"zones": ["c"]}, "unknown_zone", "zones", "known: a, b"),
        ({"minimum": 5}, "bad_pool", "minimum", "minimum is 5, which is above maximum 4"),
        (
            {"reserve_slots": 3, "maximum_slots": 2},
            "bad_pool",
            "reserve_slots",
            "reserve_slots is 3, which is above maximum_slots 2",
        ),
        ({"kinds": ["small", "core"]}, "bad_pool", "kinds", "slots of several kinds"),
        ({"kinds": ["core"]}, "no_price", "kinds", "no price for core"),
        ({"kinds": ["large"], "maximum_slots": 4}, "bad_pool", "maximum_slots", "more than 4 slots"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    facts: dict[str, object], code: str, place: str, says: str
) -> None:
    with pytest.raises(Rejected) as refused:
        resolve(POOL, define(**facts), CATALOGUE)
    assert (refused.value.code, refused.value.place) == (code, place)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kinds: [", "not YAML"),
        ("kinds: [{name: x, provider: aws}]", "kinds.0.slots"),
        ("kinds: [{name: x, provider: aws, slots: 0}]", "kinds.0.slots"),
        ("kinds: [{name: x, provider: aws, slots: 1, price: 3}]", "kinds.0.price"),
        ("kinds: [{name: x, provider: a, slots: 1}, {name: x, provider: a, slots: 2}]", "unique: x"),
    ],
)
def test_a_catalogue_that_is_wrong_says_where(text: str, says: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_catalogue(text)
    assert refused.value.code == "bad_catalogue"
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "slots", "least"),
    [
        (SpotRule(), 10, 0),
        (SpotRule(0.5), 10, 5),
        (SpotRule(0.5), 5, 3),
        (SpotRule(0.0), 10, 10),
        (SpotRule(1.0, on_demand_slots=4), 10, 4),
        (SpotRule(1.0, on_demand_slots=4), 2, 2),
        (SpotRule(0.3), 10, 7),
    ],
)
def test_so_many_slots_are_not_on_spot_machines(rule: SpotRule, slots: int, least: int) -> None:
    assert rule.least_on_demand(slots) == least


def test_a_catalogue_that_cannot_be_read_any_more_is_a_pools_fault_until_it_can(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.yaml"
    path.write_text(FILE)
    pools = Pools(spec(), CatalogueFile(path), {"aws", "slurm"})
    row = PoolRecord(POOL, 1, "aws", 0, 4, 1, "cuda", {}, None, 0, None, Demand(), define())
    assert pools.spec_of(row, ())[1] is None
    path.write_text("kinds: [")
    found, wrong = pools.spec_of(row, ())
    assert found is not None and wrong is not None and "its last valid version stays in use" in wrong
    path.write_text(FILE + "\n")
    assert pools.spec_of(row, ())[1] is None
