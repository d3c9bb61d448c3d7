"""One JSON schema per noun: as docs/json.md says, on the command line and over HTTP, with times that end in Z."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from comity.doors.cli.main import app
from comity.doors.schemas.base import Schema
from comity.doors.schemas.decisions import SeedsAdded, TakedownAdded, TakedownRemoved, TakedownView, WhyView
from comity.doors.schemas.hosts import ClaimsView, HostSummary, HostView, PolicyView, StatusView
from comity.doors.schemas.sources import SearchResults, SourceRunView, SourcesStatusView, SourceView
from comity.doors.web.routes import ROUTERS
from tests.doors.command_line import CommandLine
from tests.doors.json_page import NOUNS, PAGE, nouns_as_markdown

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
GIVEN: list[tuple[tuple[str, ...], type[Schema]]] = [
    (("seeds", "add", "https://new.example/begin"), SeedsAdded),
    (("domains", "list"), HostSummary),
    (("domains", "info", "a.example"), HostView),
    (("domains", "top"), HostSummary),
    (("domains", "claims"), ClaimsView),
    (("policy", "set", "a.example", "--max-pages", "3"), PolicyView),
    (("policy", "show", "other.example"), PolicyView),
    (("takedown", "add", "b.example"), TakedownAdded),
    (("takedown", "list"), TakedownView),
    (("takedown", "remove", "b.example"), TakedownRemoved),
    (("why", "https://a.example/page"), WhyView),
    (("status",), StatusView),
    (("sources", "status"), SourcesStatusView),
    (("sources", "logs"), SourceRunView),
    (("search", "water"), SearchResults),
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
    known = {
        (method, route.path.replace("{source_id}", "{id}"))
        for router in ROUTERS
        for route in router.routes
        for method in getattr(route, "methods", ())
    }
    for noun in NOUNS:
        for each in noun.commands:
            command = root
            for word in each.split():
                command = command.commands[word]
        for each in noun.routes:
            methods, _, path = each.rpartition(" ")
            assert {(method.strip(), path) for method in methods.split(",")} <= known, each


def test_the_json_of_commands_fits_the_schema_of_its_noun(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="active", pages_crawled=2, last_crawled_at="2026-02-05 14:30:00.000000")
    assert with_state("sources", "add", "https://a.example/jobs", "--json").code == 0
    sources = with_state.json("sources", "list")["sources"]
    assert set(sources[0]) == set(SourceView.model_fields)
    assert list(times(sources))
    for command, schema in GIVEN:
        told = with_state.json(*command)
        fields = {field.serialization_alias or name for name, field in schema.model_fields.items()}
        for document in told if isinstance(told, list) else [told]:
            if schema is not SourcesStatusView:  # whose `global` has another name in Python
                schema.model_validate(document)
            assert fields <= set(document), command
        assert [each for each in times(told) if not each.endswith("Z")] == [], command


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
def test_every_time_ends_with_a_z(noun: Any) -> None:
    schema = noun.schema.model_json_schema(mode="serialization")
    for each in (schema, *schema.get("$defs", {}).values()):
        for name, field in each.get("properties", {}).items():
            kinds = [field, *field.get("anyOf", ())]
            if name.endswith("_at") or name == "at":
                examples = [kind.get("examples") for kind in kinds if kind.get("format") == "date-time"]
                assert examples == [["2026-02-05T14:30:00.000Z"]], name
