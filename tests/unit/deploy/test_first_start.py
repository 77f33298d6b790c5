"""The steps of a first start are done again when what they depend on changes."""

import pytest

from deploy.embedded.first_start.initialise import ROOT, SOURCES


@pytest.mark.parametrize("pattern", [pattern for patterns in SOURCES.values() for pattern in patterns])
def test_what_a_step_depends_on_is_there(pattern: str) -> None:
    assert list(ROOT.glob(pattern)), f"{pattern} names no file: the step would never be done again"
