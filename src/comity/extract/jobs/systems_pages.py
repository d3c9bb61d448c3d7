"""Pages of applicant systems: a tree and its address enter, jobs leave. Rows of selectors, and data in scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from turbohtml import Document

from comity.extract.jobs.mapping import mapped_jobs
from comity.extract.jobs.outline import Outline
from comity.extract.jobs.plain_json import best_jobs
from comity.extract.jobs.script_data import MOST_SCRIPTS, values_in
from comity.extract.jobs.selected import selected_jobs
from comity.extract.jobs.values import find, text_of_value
from comity.model.job import FoundBy, JobFound
from comity.model.parser_hint import (
    ApplicantSystem,
    HintField,
    HintProblem,
    JsonPath,
    MappingHint,
    Selector,
    SelectorHint,
)
from comity.rules.parser_hint import json_path, template

_LEAST_SCORE: Final = 4.0
_SURE: Final = 100.0
_MOST_NODES: Final = 200_000
_MOST_TEXTS: Final = 3
_LEAST_MARKUP: Final = 120
_MOST_MARKUP: Final = 200_000
_MARKUP: Final = re.compile(r"<(?:a|li|h[1-6]|tr|article)[\s>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageSystem:
    """One system's page: what it is known by, and where it keeps its jobs."""

    system: ApplicantSystem
    sign: str
    hint: SelectorHint


def _hint(item: str, **fields: str) -> SelectorHint:
    return SelectorHint(item, tuple((HintField(name), (_selector(css, name),)) for name, css in fields.items()))


def _selector(css: str, name: str) -> Selector:
    return Selector(css, "href" if name == "url" else None)


PAGES: Final = (
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        "div.opening > a[data-mapped]",
        _hint("div.opening", title="a", url="a", location="span.location"),
    ),
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        "tr.job-post a[href]",
        _hint("tr.job-post", title="p.body--medium", url="a", location="p.body--metadata"),
    ),
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        'section.level-0 div.opening > a[href*="/jobs/"]',
        _hint("section.level-0 div.opening", title="a", url="a", location="span.location"),
    ),
    PageSystem(
        ApplicantSystem.LEVER,
        "div.posting a.posting-title",
        _hint(
            "div.posting",
            title='a.posting-title h5, [data-qa="posting-name"]',
            url="a.posting-title",
            location=".sort-by-location, .location",
            employment=".sort-by-commitment, .commitment",
            workplace=".workplaceTypes",
        ),
    ),
    PageSystem(
        ApplicantSystem.WORKABLE,
        'li[data-ui="job"] a[href*="/j/"]',
        _hint(
            'li[data-ui="job"]',
            title='[data-ui="job-title"], h3',
            url="a",
            location='[data-ui="job-location"]',
            employment='[data-ui="job-type"]',
            workplace='[data-ui="job-workplace"]',
            posted='[data-ui="job-posted"]',
        ),
    ),
    PageSystem(
        ApplicantSystem.BAMBOOHR,
        "li.BambooHR-ATS-Jobs-Item a",
        _hint("li.BambooHR-ATS-Jobs-Item", title="a", url="a", location=".BambooHR-ATS-Location"),
    ),
    PageSystem(
        ApplicantSystem.RECRUITEE,
        '[data-testid="offer-list-grid-desktop-styled"] a[href*="/o/"]',
        _hint(
            '[data-testid="offer-list-grid-desktop-styled"] > div',
            title="a",
            url="a",
            location='[data-testid="styled-location-list-item"]',
        ),
    ),
)


def page_system_jobs(
    document: Document, *, base: str, url: str, wanted: ApplicantSystem | None = None
) -> list[JobFound]:
    """Jobs of the first known page that this one is."""
    for page in PAGES:
        if (wanted is None or page.system is wanted) and document.select_one(page.sign) is not None:
            jobs = selected_jobs(document, page.hint, base=base, url=url, found_by=FoundBy.APPLICANT_SYSTEM)
            if jobs:
                return jobs
    return []


def unread_markup(document: Document) -> str:
    """What a page has that stands for jobs, though none could be read from it; empty if there is no such thing."""
    for page in PAGES:
        if document.select_one(page.sign) is not None:
            return f"the page is built like one of {page.system}, but its items cannot be read"
    scripts = document.select('script[type*="ld+json" i]')[:MOST_SCRIPTS]
    if document.select_one('[itemtype*="JobPosting"]') or any('"JobPosting"' in script.text for script in scripts):
        return "the page has schema.org data about jobs, but without a title"
    return ""


def _ashby_mapping() -> MappingHint:
    rules = {
        HintField.TITLE: ("title",),
        HintField.URL: ("{@origin}/{@board}/{id}",),
        HintField.LOCATION: ("locationName",),
        HintField.EMPLOYMENT: ("employmentType",),
        HintField.WORKPLACE: ("workplaceType",),
        HintField.POSTED: ("publishedDate",),
        HintField.REFERENCE: ("id",),
        HintField.ORG: ("@name",),
    }
    fields = []
    for field, texts in rules.items():
        templates = [template(text) for text in texts]
        fields.append((field, tuple(found for found in templates if not isinstance(found, HintProblem))))
    return MappingHint(_path("jobBoard.jobPostings"), tuple(fields))


def _path(text: str) -> JsonPath:
    path = json_path(text)
    assert not isinstance(path, HintProblem)
    return path


_ASHBY: Final = _ashby_mapping()
_ORGANISATION: Final = _path("organization.name")


def embedded_jobs(
    document: Document, outline: Outline, *, url: str, is_fluent: bool = True
) -> tuple[float, list[JobFound]]:
    """Jobs in the data that a page brings for its own scripts, and their score: Ashby's, Next.js and their like."""
    best: tuple[float, list[JobFound]] = (0.0, [])
    for name, value in values_in(document, outline):
        if find(value, _ASHBY.items):
            parts = url.split("/")
            context = {"origin": "/".join(parts[:3]), "board": parts[3].partition("?")[0] if len(parts) > 3 else ""}
            context["name"] = text_of_value(find(value, _ORGANISATION))
            jobs = mapped_jobs(value, _ASHBY, url=outline.base, found_by=FoundBy.APPLICANT_SYSTEM, context=context)
            if jobs:
                return _SURE, jobs
        found = best_jobs(
            value,
            url=outline.base,
            found_by=FoundBy.APPLICANT_SYSTEM,
            least=_LEAST_SCORE,
            name=name,
            is_fluent=is_fluent,
        )
        if found[1] and found[0] > best[0]:
            best = found
    return best


def markup_in_data(document: Document, outline: Outline) -> list[str]:
    """Markup in the values of a page's data, the longest first: content systems hand whole texts to their scripts."""
    found: dict[str, None] = {}
    room = _MOST_NODES
    for _, value in values_in(document, outline):
        waiting = [value]
        while waiting and room:
            room -= 1
            node = waiting.pop()
            if isinstance(node, dict):
                waiting.extend(node.values())
            elif isinstance(node, list):
                waiting.extend(node)
            elif isinstance(node, str) and _LEAST_MARKUP <= len(node) <= _MOST_MARKUP and _MARKUP.search(node):
                found[node] = None
    return sorted(found, key=len, reverse=True)[:_MOST_TEXTS]
