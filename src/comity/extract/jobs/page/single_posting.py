"""A page that is one posting: the heading is the title, and the sections are those of an advertisement.

Such a page often lists other jobs too ("Similar vacancies"); those are ignored.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from comity.extract.jobs.addresses import path_of, same_page
from comity.extract.jobs.page.fields import fields_of, labels_of
from comity.extract.jobs.page.outline import HEADINGS, Outline
from comity.extract.jobs.page.repeated_items import PageWords, is_closed_between
from comity.extract.jobs.text import collapse, job
from comity.extract.jobs.words.dates import DATE, is_open_ended
from comity.extract.jobs.words.labels import without_label
from comity.extract.jobs.words.pages import CAREERS, NOT_JOBS_HEADING, OPENINGS_HEADING, OTHER_JOBS, POSTING_PART
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation, is_news_title
from comity.model.job import ExtractionMethod, JobFound
from comity.rules.jobs.words import key

_INVITATION: Final = re.compile(r"(?:careers?|jobs|join|work|become|opportunities|vacancies)\b", re.IGNORECASE)
_TITLE_PARTS: Final = re.compile(r"\s+[-|–—·»:•]+\s+|\s*\|\s*")
_LONGEST_TITLE: Final = 140
_LONGEST_PART: Final = 80
_MOST_LINES: Final = 300
_SET_OFF: Final = frozenset({"b", "strong", "font", "span", "div", "p", "td", "center", "big", "u"})
_LEAST_SCORE: Final = 4.0
_LEAST_WORD: Final = 4
_LEAST_SIGNS: Final = 3
_LEAST_PARTS: Final = 2
_LEAST_RIVALS: Final = 2
_MOST_HEADINGS: Final = 200
_LONGEST_LINE: Final = 300
_MOST_TIMES: Final = 2
_LIST: Final = re.compile(
    r"一覧|リスト|列表|목록|\b(?:lists?|lista|liste|übersicht|overview|table|consultancies|internships|fellowships|traineeships|"
    r"volunteering|positions|vacancies|opportunities|roles|jobs|posts|stages|prácticas|becas|praktika|offres|ofertas)\b",
    re.IGNORECASE,
)


def single_job(outline: Outline, page: PageWords, document_title: str = "") -> list[JobFound]:
    """The job of a page that advertises only one: duties and requirements under its title, or labels and a last day."""
    heading = _heading(outline, document_title)
    if heading is not None and is_generic(outline.text(heading, 250)):  # "Vacancy details" stands over the title
        heading = next(
            (number for number in range(heading + 1, len(outline.tags)) if outline.tags[number] in HEADINGS), None
        )
    if heading is None:
        return []
    title = without_label(outline.text(heading, 250))
    is_fit = 3 <= len(title) <= _LONGEST_TITLE and _INVITATION.match(title) is None and not is_news_title(title)
    if not is_fit or is_navigation(title) or is_generic(title) or _names_a_list(title):
        return []
    if not is_job_title(title) and _is_site_name(outline, title):
        return []
    end = _end(outline, heading)
    texts = range(outline.text_starts[heading], outline.text_ends[heading])
    labels = labels_of(outline, heading, end, texts)
    if any(len(values) > 1 for name, values in labels.items() if name in ("deadline_raw", "location_raw", "reference")):
        return []  # more than one last day is a list, which others read
    parts = _parts(outline, heading, end)
    known = [part for part in parts if POSTING_PART.search(part)]
    if any(is_job_title(part) and not POSTING_PART.search(part) for part in _headings(outline, heading, end)):
        return []
    is_dated = any(DATE.search(value[:100]) or is_open_ended(value) for value in labels.get("deadline_raw", ()))
    is_detail = is_dated or len(known) >= _LEAST_PARTS or _is_in_address(title, page.url)
    if not is_detail and _rivals(outline, heading, end, page.url) >= _LEAST_RIVALS:
        return []  # a heading over a list of jobs
    fields = fields_of(outline, heading, end, texts)
    score = 2.0 * is_job_title(title) + 1.0 * page.about_careers + 1.0 * _is_in_address(title, page.url)
    score += 1.0 * (key(title) in key(document_title)) + min(2.0, 1.0 * len(known)) + min(2.0, 0.75 * len(labels))
    score += 1.0 * ("deadline_raw" in fields)
    if score < _LEAST_SCORE or not (known or labels) or is_closed_between(outline, heading, end):
        return []
    if not is_job_title(title) and (not known or len(known) + len(labels) < _LEAST_SIGNS):
        return []
    found = job(title=title, apply_url=page.url.partition("#")[0], found_by=ExtractionMethod.CARDS, **fields)
    return [found] if found else []


def _heading(outline: Outline, document_title: str) -> int | None:
    """The element that names what a page is about: its heading, or else what its title says, too."""
    said = [part for part in map(key, _TITLE_PARTS.split(document_title)[:4]) if part]
    shown = [number for number, tag in enumerate(outline.tags) if tag in HEADINGS and not outline.chrome[number]]
    headings = {key(outline.text(number, 250)): number for number in reversed(shown[:30])}
    for part in said:  # what a page is about comes first, the site's name last
        if part in headings:
            return headings[part]
    first = next((number for number in shown if outline.tags[number] in ("h1", "h2")), None)
    if first is not None and outline.tags[first] == "h1":
        return first
    for number, tag in enumerate(outline.tags[:5000]):
        if tag in _SET_OFF and not outline.chrome[number]:
            begin, stop = outline.text_starts[number], outline.text_ends[number]
            if stop - begin <= 8 and key(outline.text(number, 250)) in said:
                return number
    return first


def _rivals(outline: Outline, heading: int, end: int, url: str) -> int:
    """How many links below a heading lead to other jobs."""
    inside = [link for link in outline.links if heading < link.element < end and not outline.chrome[link.element]]
    return sum(is_job_title(link.text) and not same_page(link.url, url) for link in inside[:_MOST_LINES])


def _names_a_list(title: str) -> bool:
    """Whether a heading is that of a list: "Open positions", "Careers at …"; "Recruitment Officer" is none."""
    if is_job_title(title):
        rest = OPENINGS_HEADING.sub("", title)
        return _LIST.search(title) is not None or (rest != title and not is_job_title(rest))
    return OPENINGS_HEADING.search(title) is not None or CAREERS.search(title) is not None


def _is_site_name(outline: Outline, title: str) -> bool:
    """Whether a heading names the site: logos, banners and footers say it, too."""
    return sum(title in text for text in outline.texts if len(text) <= _LONGEST_LINE) > _MOST_TIMES


def _end(outline: Outline, heading: int) -> int:
    """Where the posting stops: at the list of other jobs, or at the end of what holds it."""
    around = next((near for near in outline.ancestors(heading) if outline.tags[near] in ("main", "article")), None)
    end = outline.ends[around] if around is not None else len(outline.tags)
    for number in _visible_headings(outline, heading, end):
        text = outline.text(number, 200)
        is_other = (
            OTHER_JOBS.fullmatch(text.strip(" :")) or OPENINGS_HEADING.search(text) or NOT_JOBS_HEADING.search(text)
        )
        if is_other and not POSTING_PART.search(text):
            return number
    return end


def _headings(outline: Outline, heading: int, end: int) -> list[str]:
    return [outline.text(number, _LONGEST_PART) for number in _visible_headings(outline, heading, end)]


def _visible_headings(outline: Outline, heading: int, end: int) -> list[int]:
    """Headings below another, as many as an advertisement may have."""
    numbers = (
        number
        for number in range(outline.ends[heading], end)
        if outline.tags[number] in HEADINGS and not outline.chrome[number]
    )
    return list(islice(numbers, _MOST_HEADINGS))


def _parts(outline: Outline, heading: int, end: int) -> set[str]:
    """Short lines under the heading, any of which may be that of a part."""
    lines: set[str] = set()
    for index in outline.text_range(heading, end)[: 10 * _MOST_LINES]:
        text = outline.texts[index]
        if 3 <= len(text) <= _LONGEST_PART and not outline.chrome[outline.text_owners[index]]:
            line = collapse(text).rstrip(":： ").lower()
            if line and len(line.split()) <= 5:
                lines.add(line)
        if len(lines) >= _MOST_LINES:
            break
    return lines


def _is_in_address(title: str, url: str) -> bool:
    """Whether a page's address has the words of its title, as those of articles do."""
    path = key(path_of(url).replace("-", " ").replace("_", " "))
    words = [word for word in key(title).split() if len(word) >= _LEAST_WORD]
    return bool(words) and sum(word in path for word in words) * 2 > len(words)
