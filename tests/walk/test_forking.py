"""The fork server has imported what its commands need: each would take most of a second to do so itself."""

from __future__ import annotations

import pytest

from tests.walk.crawling import Place
from tests.walk.forking import SAY_IMPORTS
from tests.walk.site import Web, tree


@pytest.mark.parametrize("options", [["crawl", "--json"], ["work", "--idle-exit"]], ids=["crawl", "work"])
def test_a_forked_command_imports_next_to_nothing(web: Web, place: Place, options: list[str]) -> None:
    site = web.site(tree(3))
    assert place.comity("seeds", "add", site.url()).code == 0
    place.env[SAY_IMPORTS] = "1"
    if options[0] == "crawl":
        options = [*options, site.url()]
    told = place.comity_apart(*options)
    assert told.code == 0, told.err
    assert len(site.pages()) == 3
    imported = [line for line in told.err.splitlines() if line.startswith(("comity.", "sqlalchemy", "typer"))]
    assert [name for name in imported if name.startswith("comity.")] == []
    assert "typer" not in imported
    assert len(imported) < 20
