"""The fork server has imported what its commands need: each would take most of a second to do so itself."""

from __future__ import annotations

import pytest

from tests.walk.crawling import Place
from tests.walk.forking import SAY_IMPORTS
from tests.walk.site import Web, tree

COMMANDS = ["crawl --json", "work --idle-exit", "work --idle-exit --processes 2"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_forked_command_imports_next_to_nothing(web: Web, place: Place, command: str) -> None:
    """Nor do child processes; those of `work` write to the same stream."""
    sites = [web.site(tree(3)) for _ in range(2)]
    urls = [site.url() for site in sites]
    assert place.comity("seeds", "add", *urls).code == 0
    place.env[SAY_IMPORTS] = "1"
    told = place.comity_apart(*command.split(), *(urls if command.startswith("crawl") else []))
    assert told.code == 0, told.err
    assert [len(site.pages()) for site in sites] == [3, 3]
    assert told.err.count("imported:") == (3 if "--processes" in command else 1)
    imported = [line for line in told.err.splitlines() if line.startswith(("comity.", "sqlalchemy", "typer"))]
    assert [name for name in imported if name.startswith("comity.")] == []
    assert "typer" not in imported
    assert len(imported) < 20
