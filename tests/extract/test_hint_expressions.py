"""Hints whose fields are expressions: selectors within the item, data of the page."""

from __future__ import annotations

from comity.extract.jobs.read import read_listing
from comity.model.parser_hint import SelectorHint
from comity.model.source import SourceType
from comity.rules.parser_hint import parse_hint

PAGE = b"""<script type=application/ld+json>{"@type":"Organization","name":"Wells"}</script><ul>
<li><h3> Nurse </h3><a href=/1>more</a><i class=d>1 May</i></li>
<li><h3>Cook</h3><a href=/2>more</a><time datetime=2026-05-02>2 May</time></li></ul><a class=on href="?page=2">on</a>"""


def test_fields_are_found_by_expressions() -> None:
    hint = parse_hint(
        """{"item": "li", "title": "css 'h3::text' | trim", "link": "css 'a::attr(href)'",
        "org": "jsonld.Organization.name", "deadline": "COALESCE(css 'time::attr(datetime)', css '.d::text')",
        "next": "css 'a.on::attr(href)'"}"""
    )
    assert isinstance(hint, SelectorHint)
    listing = read_listing(
        PAGE, url="https://example.org/jobs", content_type="text/html", source_type=SourceType.HTML, hint=hint
    )
    assert [(job.title, job.apply_url, job.org_name, job.deadline_raw) for job in listing.jobs] == [
        ("Nurse", "https://example.org/1", "Wells", "1 May"),
        ("Cook", "https://example.org/2", "Wells", "2026-05-02"),
    ]
    assert listing.next_url == "https://example.org/jobs?page=2"
