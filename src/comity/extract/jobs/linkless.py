"""Jobs without links of their own: titles as headings, applications by e-mail; an outline enters, jobs leave."""

from __future__ import annotations

from typing import Final

from comity.extract.jobs.addresses import same_page
from comity.extract.jobs.item_fields import fields_of
from comity.extract.jobs.outline import HEADINGS, Outline
from comity.extract.jobs.repeated import PageWords
from comity.extract.jobs.text import job
from comity.extract.jobs.words_labels import without_label
from comity.extract.jobs.words_pages import CLOSED_HEADING, MANY_OF_THEM, OPENINGS_HEADING, STORIES_HEADING
from comity.extract.jobs.words_titles import is_job_title, is_navigation, is_news_title
from comity.model.job import FoundBy, JobFound

MOST_JOBS: Final = 500
_REACH: Final = 120
_LEAST_SHARE: Final = 0.6


def linkless_jobs(outline: Outline, page: PageWords) -> list[JobFound]:
    """Headings that read like jobs, on a page that is about openings; each is found at its own anchor."""
    if not page.about_careers:
        return []
    by_kind: dict[str, list[int]] = {}
    opening, told, linked = page.about_openings, "", _linked(outline, page.url)
    for number, tag in enumerate(outline.tags):
        if outline.chrome[number] or not (tag in HEADINGS or tag == "summary"):
            continue
        text = outline.text(number, 250)
        if tag in HEADINGS and STORIES_HEADING.search(text) and not is_job_title(text):
            told = tag  # what stands below, in smaller headings, is about people or deeds
        elif told and tag <= told:
            told = ""
        if (told and tag > told) or number in linked or MANY_OF_THEM.match(text):
            continue
        opening = opening or OPENINGS_HEADING.search(text) is not None or (tag == "h1" and is_navigation(text))
        if 4 <= len(text) <= 160 and not is_navigation(text) and not is_news_title(text):
            by_kind.setdefault(tag, []).append(number)
    if not opening:
        return []
    for numbers in by_kind.values():
        titled = [number for number in numbers if _is_open_job(outline.text(number, 250))]
        if not titled or len(titled) < _LEAST_SHARE * len(numbers):
            continue
        jobs = [found for number in titled[:MOST_JOBS] if (found := _job(outline, number, page.url))]
        if len(jobs) >= 2 or any(found.deadline_raw for found in jobs):
            return jobs
    return []


def _linked(outline: Outline, url: str) -> set[int]:
    """Elements that are, hold or stand in a link to another page."""
    found: set[int] = set()
    for link in outline.links:
        if link.url and not same_page(link.url, url):
            inside = range(link.element, min(outline.ends[link.element], link.element + _REACH))
            found.update((*inside, *outline.ancestors(link.element, 3)))
    return found


def _is_open_job(text: str) -> bool:
    return is_job_title(text) and CLOSED_HEADING.search(text) is None


def _job(outline: Outline, number: int, url: str) -> JobFound | None:
    end = min(len(outline.tags), number + _REACH)
    for following in range(outline.ends[number], end):
        if outline.tags[following] in HEADINGS or outline.tags[following] == "summary" or outline.chrome[following]:
            end = following
            break
    texts = range(outline.text_starts[number], outline.text_ends[number])
    fields = fields_of(outline, number, max(end, number + 1), texts)
    anchor = next(
        (said for near in (number, *outline.ancestors(number, 2)) if (said := outline.elements[near].attr("id"))), ""
    )
    address = f"{url.partition('#')[0]}#{anchor}" if anchor and " " not in anchor else url
    return job(title=without_label(outline.text(number, 250)), apply_url=address, found_by=FoundBy.CARDS, **fields)
