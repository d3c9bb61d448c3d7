"""Pages of applicant systems: a tree and its address enter, jobs leave. Rows of selectors, and data in scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from turbohtml import Document

from comity.extract.jobs.lenient_json import read_lenient
from comity.extract.jobs.mapping import mapped_jobs
from comity.extract.jobs.plain_json import plain_jobs
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

MOST_SCRIPTS: Final = 200
_LONGEST_DATA: Final = 3_000_000
_DATA: Final = re.compile(
    r"(?:window\s*(?:\.|\[\s*['\"])\s*)?(?:__appData|__INITIAL_STATE__|__NEXT_DATA__|__NUXT__|__PRELOADED_STATE__|"
    r"__remixContext|jobsData|jobs|vacancies|APP_STATE)(?:['\"]\s*\])?\s*=\s*(?=[\[{])"
)
_JOB_WORD: Final = re.compile(r"job|vacanc|position|opening|career", re.IGNORECASE)


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
        ApplicantSystem.SMARTRECRUITERS,
        'li.opening-job a[href*="smartrecruiters.com"]',
        _hint("li.opening-job", title=".job-title, h4", url="a", employment=".job-desc"),
    ),
    PageSystem(
        ApplicantSystem.BAMBOOHR,
        "li.BambooHR-ATS-Jobs-Item a",
        _hint("li.BambooHR-ATS-Jobs-Item", title="a", url="a", location=".BambooHR-ATS-Location"),
    ),
    PageSystem(
        ApplicantSystem.TEAMTAILOR,
        '#jobs_list_container li a[href*="/jobs/"]',
        _hint(
            "#jobs_list_container > li",
            title='a span.text-block-base-link, a[href*="/jobs/"]',
            url="a",
            location=".text-md span:nth-of-type(3), .text-base span:nth-of-type(3)",
            workplace=".inline-flex",
        ),
    ),
    PageSystem(
        ApplicantSystem.PERSONIO,
        'a.job-box-link[href*="/job/"]',
        _hint("a.job-box-link", title=".jb-title", url="", location=".jb-description span:last-of-type"),
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


def embedded_jobs(document: Document, *, base: str, url: str) -> list[JobFound]:
    """Jobs in the data that a page brings for its own scripts: Ashby's, Next.js and their like."""
    for script in document.select("script:not([src])")[:MOST_SCRIPTS]:
        kind = (script.attr("type") or "").lower()
        text = script.text
        if not 40 <= len(text) <= _LONGEST_DATA or not _JOB_WORD.search(text) or "ld+json" in kind:
            continue
        if "json" in kind:
            value = read_lenient(text)
        else:
            found = _DATA.search(text)
            value = read_lenient(_balanced(text, found.end())) if found else None
        if value is None:
            continue
        if find(value, _ASHBY.items):
            parts = url.split("/")
            context = {"origin": "/".join(parts[:3]), "board": parts[3].partition("?")[0] if len(parts) > 3 else ""}
            context["name"] = text_of_value(find(value, _ORGANISATION))
            jobs = mapped_jobs(value, _ASHBY, url=base, found_by=FoundBy.APPLICANT_SYSTEM, context=context)
        else:
            jobs = plain_jobs(value, url=base, found_by=FoundBy.APPLICANT_SYSTEM, least=4.0)
        if jobs:
            return jobs
    return []


_QUOTED: Final = re.compile(r"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|[{}\[\]]", re.DOTALL)


def _balanced(text: str, start: int) -> str:
    """The value that begins at a place, to its own closing bracket."""
    depth = 0
    for found in _QUOTED.finditer(text, start):
        sign = found[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                return text[start : found.end()]
    return text[start:]
