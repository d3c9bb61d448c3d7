"""A noun is the same object on the command line and over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.doors.command_line import STATE, CommandLine
from tests.doors.web.served import TOKEN_HASH, WITH_TOKEN, served

# The command, the route, and the field of the answer that holds what the command prints; the last one is volatile.
SAME: list[tuple[tuple[str, ...], str, str | None, tuple[str, ...]]] = [
    (("domains", "list"), "/admin/hosts", "hosts", ()),
    (("domains", "info", "a.example"), "/admin/hosts/a.example", None, ()),
    (("domains", "claims"), "/admin/claims", None, ()),
    (("policy", "show", "a.example"), "/admin/domain_policies/a.example", None, ()),
    (("takedown", "list"), "/admin/takedowns", "takedowns", ()),
    (("status",), "/admin/status", None, ("at",)),
    (("why", "https://a.example/page"), "/admin/why?url=https://a.example/page", None, ("at",)),
    (("sources", "logs"), "/admin/crawl/logs", "logs", ()),
]


def without(document: Any, names: tuple[str, ...]) -> Any:
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name not in names}
    return document


def test_both_answer_with_the_same_object(with_state: CommandLine) -> None:
    with_state.add_host("a.example", status="active", pages_crawled=2, last_crawled_at="2026-02-05 14:30:00.000000")
    with_state.done("takedown", "add", "b.example", "--reason", "asked")
    with_state.done("policy", "set", "a.example", "--max-pages", "3")
    with_state.done("sources", "add", "https://a.example/jobs")
    url = f"sqlite:///{with_state.folder / STATE}"
    with served(url, env="prod", admin_token_hash=(TOKEN_HASH,)) as api, api.client(headers=WITH_TOKEN) as client:
        for command, route, field, volatile in SAME:
            answer = client.get(route)
            assert answer.status_code == 200, (route, answer.text)
            document = answer.json() if field is None else answer.json()[field]
            assert without(with_state.json(*command), volatile) == without(document, volatile), route
        (source,) = with_state.json("sources", "list")["sources"]
        assert client.get(f"/admin/sources/{source['id']}").json() == pytest.approx(source)
