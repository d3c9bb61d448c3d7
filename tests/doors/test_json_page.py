"""One JSON shape a noun: as docs/json.md says, on the command line as over HTTP, with times that end in Z."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from comity.doors.cli.main import app
from comity.doors.shapes.base import Shape
from comity.doors.shapes.decisions import SeedsAdded, TakedownAdded, TakedownRemoved, TakedownShown, WhyShown
from comity.doors.shapes.hosts import ClaimsShown, HostListed, HostShown, PolicyShown, StateShown
from comity.doors.shapes.page import NOUNS, nouns_as_markdown
from comity.doors.web import search_routes, seeds_routes, sources_routes, state_routes
from comity.doors.web.crawl_routes import router as crawl_router
from comity.doors.web.explain_routes import router as explain_router
from comity.doors.web.hosts_routes import router as hosts_router
from comity.doors.web.shown import LogShown, SearchShown, SourceShown, StatusShown
from tests.doors.command_line import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
GIVEN: list[tuple[tuple[str, ...], type[Shape]]] = [
    (("seeds", "add", "https://new.example/begin"), SeedsAdded),
    (("domains", "list"), HostListed),
    (("domains", "info", "a.example"), HostShown),
    (("domains", "top"), HostListed),
    (("domains", "claims"), ClaimsShown),
    (("policy", "set", "a.example", "--max-pages", "3"), PolicyShown),
    (("policy", "show", "other.example"), PolicyShown),
    (("takedown", "add", "b.example"), TakedownAdded),
    (("takedown", "list"), TakedownShown),
    (("takedown", "remove", "b.example"), TakedownRemoved),
    (("why", "https://a.example/page"), WhyShown),
    (("status",), StateShown),
    (("sources", "status"), StatusShown),
    (("sources", "logs"), LogShown),
    (("search", "water"), SearchShown),
]


def times(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from times(each)
    elif isinstance(value, list):
        for each in value:
            yield from times(each)
    elif isinstance(value, str) and TIME.fullmatch(value):
        yield value


def test_the_page_lists_every_noun() -> None:
    assert PAGE.read_text(encoding="utf-8").endswith(nouns_as_markdown() + "\n")


def test_the_commands_and_routes_that_it_names_exist() -> None:
    root: Any = typer.main.get_command(app)
    routers = (
        search_routes.router,
        seeds_routes.router,
        sources_routes.router,
        state_routes.router,
        crawl_router,
        explain_router,
        hosts_router,
    )
    known = {
        (method, route.path.replace("{source_id}", "{id}"))
        for router in routers
        for route in router.routes
        for method in route.methods
    }
    for noun in NOUNS:
        for each in noun.commands:
            command = root
            for word in each.split():
                command = command.commands[word]
        for each in noun.routes:
            methods, _, path = each.rpartition(" ")
            assert {(method.strip(), path) for method in methods.split(",")} <= known, each


def test_what_commands_say_has_the_shape_of_its_noun(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="active", pages_crawled=2, last_crawled_at="2026-02-05 14:30:00.000000")
    assert with_state("sources", "add", "https://a.example/jobs", "--json").code == 0
    sources = with_state.json("sources", "list")["sources"]
    assert set(sources[0]) == set(SourceShown.model_fields)
    assert list(times(sources))
    for command, shape in GIVEN:
        told = with_state.json(*command)
        fields = {field.serialization_alias or name for name, field in shape.model_fields.items()}
        for document in told if isinstance(told, list) else [told]:
            if shape is not StatusShown:  # whose `global` has another name in Python
                shape.model_validate(document)
            assert fields <= set(document), command
        assert [each for each in times(told) if not each.endswith("Z")] == [], command


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
def test_every_time_of_a_shape_is_spelled_with_a_z(noun: Any) -> None:
    schema = noun.shape.model_json_schema(mode="serialization")
    for each in (schema, *schema.get("$defs", {}).values()):
        for name, field in each.get("properties", {}).items():
            kinds = [field, *field.get("anyOf", ())]
            if name.endswith("_at") or name == "at":
                examples = [kind.get("examples") for kind in kinds if kind.get("format") == "date-time"]
                assert examples == [["2026-02-05T14:30:00.000Z"]], name
