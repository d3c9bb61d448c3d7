"""A page that is one posting: its heading is the title, its parts are an advertisement's; outline in, job out."""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.item_fields import fields_of
from comity.extract.jobs.outline import HEADINGS, Outline
from comity.extract.jobs.repeated import PageWords, is_closed_between
from comity.extract.jobs.text import collapse, job
from comity.extract.jobs.words_labels import without_label
from comity.extract.jobs.words_pages import POSTING_PART
from comity.extract.jobs.words_titles import is_job_title, is_news_title
from comity.model.job import FoundBy, JobFound

_INVITATION: Final = re.compile(r"(?:careers?|jobs|join|work|become|opportunities|vacancies)\b", re.IGNORECASE)
_LONGEST_TITLE: Final = 140
_LONGEST_PART: Final = 80
_MOST_HEADINGS: Final = 200
_PART_TAGS: Final = HEADINGS | {"strong", "b", "dt", "summary"}
_LEAST_PARTS: Final = 2


def single_job(outline: Outline, page: PageWords) -> list[JobFound]:
    """The job of a page that advertises only one: duties and requirements under its title, or either and a date."""
    if not page.about_careers:
        return []
    shown = [number for number, tag in enumerate(outline.tags) if tag in _PART_TAGS and not outline.chrome[number]]
    heading = next((number for number in shown if outline.tags[number] in ("h1", "h2")), None)
    if heading is None:
        return []
    title = without_label(outline.text(heading, 250))
    is_fit = 3 <= len(title) <= _LONGEST_TITLE and _INVITATION.match(title) is None
    if not is_fit or not is_job_title(title) or is_news_title(title):
        return []
    end = len(outline.tags)
    following = [number for number in shown[:_MOST_HEADINGS] if number > heading]
    parts = {collapse(outline.text(number, _LONGEST_PART)).lower() for number in following}
    known = sum(POSTING_PART.search(part) is not None for part in parts)
    texts = range(outline.text_starts[heading], outline.text_ends[heading])
    fields = fields_of(outline, heading, end, texts)
    if known < _LEAST_PARTS and not (known and "deadline_raw" in fields):
        return []
    # More than one title among the headings is a list, which others read.
    if any(is_job_title(part) and not POSTING_PART.search(part) for part in parts) or is_closed_between(
        outline, heading, end
    ):
        return []
    found = job(title=title, apply_url=page.url.partition("#")[0], found_by=FoundBy.CARDS, **fields)
    return [found] if found else []
