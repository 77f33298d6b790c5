"""Tests whose server or program is not installed: skipped for a person, failed in CI."""

import pytest

from tests.support.missing_dependency import missing, need


def test_a_person_sees_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="slurmctld is missing: apt-get install slurmctld"):
        missing("slurmctld", "apt-get install slurmctld")


@pytest.mark.parametrize("value", ["true", "1"])
def test_ci_fails(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.fail.Exception, match="no-such-program, nor-this is missing: apt-get install"):
        need(["sh", "no-such-program", "nor-this"], "apt-get install …")
    need(["sh"], "it is there")
