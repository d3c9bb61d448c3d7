"""One JSON schema per noun: as docs/json.md says, on the command line and over HTTP, with times that end in Z."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from comity.doors.cli.main import app
from comity.doors.schemas import commands, runs
from comity.doors.schemas.base import Schema
from comity.doors.schemas.decisions import SeedsAdded, TakedownAdded, TakedownRemoved, TakedownView, WhyView
from comity.doors.schemas.hosts import ClaimsView, HostView, ListedHost, PolicyView, StatusView
from comity.doors.schemas.sources import SearchResults, SourceRunView, SourcesStatusView, SourceView
from comity.doors.web.application import ROUTERS
from tests.doors.command_line import CommandLine
from tests.doors.json_page import NOUNS, PAGE, nouns_as_markdown
from tests.walk.site import Answer, Web, tree

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
GIVEN: list[tuple[tuple[str, ...], type[Schema]]] = [
    (("seeds", "add", "https://new.example/begin"), SeedsAdded),
    (("domains", "list"), ListedHost),
    (("domains", "info", "a.example"), HostView),
    (("domains", "top"), ListedHost),
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
OTHERS: list[tuple[tuple[str, ...], type[Schema]]] = [
    (("crawl", "SITE"), runs.CrawlResult),
    (("domains", "reset", "SITE"), commands.HostReset),
    (("work", "--idle-exit"), runs.WorkerRun),
    (("seeds", "load", "seeds.txt", "--skip-bad"), commands.SeedsLoaded),
    (("domains", "merge", "--dry-run"), commands.HostMerge),
    (("domains", "backfill", "--dry-run"), commands.BackfillView),
    (("recalculate-priorities",), commands.PrioritiesComputed),
    (("verify-politeness", "--export", "ledger.jsonl"), commands.PolitenessView),
    (("db", "current"), commands.SchemaAgeView),
    (("db", "upgrade"), commands.SchemaAgeView),
    (("pages", "list"), commands.PageInList),
    (("pages", "body", "SITE"), commands.PageBody),
    (("pages", "query", "SELECT url, title FROM pages"), commands.PagesAnswer),
    (("pages", "export", "all.csv"), commands.PagesExported),
    (("pages", "parts"), commands.PartsView),
    (("pages", "verify"), commands.PartsView),
    (("search", "--status"), commands.SearchStatusView),
    (("search", "--rebuild"), commands.IndexRebuilt),
    (("sources", "run", "SITEp1"), commands.SourceRunResult),
    (("sources", "run-due"), commands.DueSourcesRun),
    (("sources", "pause", "SITEp1"), SourceView),
    (("simulate", "schedule", "--sources", "20", "--days", "20"), commands.ScheduleComparison),
    (("web", "new-token"), commands.NewToken),
]
OLD_NAMES = {"domain-status", "domain-info", "domain-reset", "top-domains"}  # of commands that are described


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


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not hasattr(command, "commands"):
        yield " ".join(path)
        return
    for name, below in command.commands.items():
        yield from leaves(below, (*path, name))


def test_every_command_with_json_has_a_schema() -> None:
    described = {each for noun in NOUNS for each in noun.commands}
    root: Any = typer.main.get_command(app)
    assert set(leaves(root)) - described == OLD_NAMES


def strictly(schema: type[Schema], document: Any) -> None:
    """Hold a document to its schema: every field that must be there is, and none is there that has no description."""
    schema.model_validate(document)
    unknown = set(document) - {field.serialization_alias or name for name, field in schema.model_fields.items()}
    assert not unknown, (schema, unknown)


def test_the_json_of_other_commands_fits_its_schema(
    with_state: CommandLine, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_DELAY", "0")
    monkeypatch.setenv("COMITY_SITEMAPS", "false")
    site = web.site(tree(4) | {"/p3": Answer(404)})
    Path("seeds.txt").write_text("new.example\nnot a host\n")
    with_state.done("sources", "add", site.url("/p1"))
    for arguments, schema in OTHERS:
        command = [argument.replace("SITE", site.url()) for argument in arguments]
        answer = with_state(*command, "--json")
        document = json.loads(answer.out) if command[0] != "work" else list(map(json.loads, answer.lines))
        assert document or command[1] == "merge", command
        for each in document if isinstance(document, list) else [document]:
            strictly(schema, each)
        assert [each for each in times(document) if not each.endswith("Z")] == [], command


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
            if (name.endswith("_at") or name == "at") and not any(kind.get("type") == "integer" for kind in kinds):
                examples = [kind.get("examples") for kind in kinds if kind.get("format") == "date-time"]
                assert examples == [["2026-02-05T14:30:00.000Z"]], name
