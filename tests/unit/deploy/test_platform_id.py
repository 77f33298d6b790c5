"""The id that a database recognises its platform by."""

from pathlib import Path

import pytest

from deploy.embedded.database import PLATFORM_ID, own_database
from deploy.embedded.options import load_options
from deploy.embedded.servers import Home
from muster.errors import Broken


def test_it_is_made_once_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    options, home = load_options({}, tmp_path), Home(tmp_path)
    home.make()
    made = own_database(home, options).platform
    assert made and own_database(home, options).platform == made
    (tmp_path / PLATFORM_ID).write_text("\n")
    with pytest.raises(Broken, match=r"platform-id is empty.*backup"):
        own_database(home, options)
