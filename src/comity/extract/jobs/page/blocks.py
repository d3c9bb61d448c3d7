"""Jobs without links of their own: cards, accordions, rows and headings that each describe one job.

Similar elements are scored together, as repeated links are: by their titles, what else they say, their class names and
the heading above them. How much is examined is bounded, because every element of a page may be a block.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import Final

from comity.extract.jobs.addresses import leads_away, posting_key, same_page
from comity.extract.jobs.page.candidates import job_line, title_in, without_states
from comity.extract.jobs.page.fields import fields_of
from comity.extract.jobs.page.outline import HEADINGS, Outline
from comity.extract.jobs.page.repeated_items import PageWords, above, called_jobs, is_closed_between, is_person
from comity.extract.jobs.text import collapse, job
from comity.extract.jobs.words.labels import without_label
from comity.extract.jobs.words.pages import (
    BYLINE,
    CLOSED_HEADING,
    JOB_CLASS,
    MANY_OF_THEM,
    NOT_JOBS_HEADING,
    OPENINGS_HEADING,
    POSTING_PART,
    STORIES_HEADING,
)
from comity.extract.jobs.words.titles import is_job_title, is_navigation, is_news_title
from comity.model.dataclass import dataclass
from comity.model.job import ExtractionMethod, JobFound

_REACH: Final = 120
_LEAST_SHARE: Final = 0.6


def linkless_jobs(outline: Outline, page: PageWords) -> list[JobFound]:
    """Headings that read like jobs, on a page that is about openings; each is found at its own anchor."""
    if not page.about_careers:
        return []
    by_kind: dict[str, list[int]] = {}
    opening, stories, linked = page.about_openings, "", _linked(outline, page.url)
    for number, tag in enumerate(outline.tags):
        if outline.chrome[number] or not (tag in HEADINGS or tag == "summary"):
            continue
        text = outline.text(number, 250)
        if tag in HEADINGS and STORIES_HEADING.search(text) and not is_job_title(text):
            stories = tag  # smaller headings below it are about people or events
        elif stories and tag <= stories:
            stories = ""
        if (stories and tag > stories) or number in linked or MANY_OF_THEM.match(text):
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
        jobs = [found for number in titled[:MOST_JOBS] if (found := _job_under(outline, number, page.url))]
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


def _job_under(outline: Outline, number: int, url: str) -> JobFound | None:
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
    return job(
        title=without_label(outline.text(number, 250)), apply_url=address, found_by=ExtractionMethod.CARDS, **fields
    )


MOST_JOBS: Final = 500
_LEAST_SCORE: Final = 4.25
_BLOCKS: Final = frozenset({"li", "div", "article", "section", "tr", "details", "dl", "ul", "ol", "p"})
_FLAT_TITLES: Final = frozenset({"b", "strong", "u", "h3", "h4", "h5", "h6", "dt"})
_MEMBERS: Final = frozenset({"li", "tr", "p"})
_TELLING: Final = frozenset({"location_raw", "deadline_raw", "employment_raw", "reference", "level_raw"})
_MOST_GROUPS: Final = 40
_SAMPLE: Final = 30
_LONGEST_TITLE: Final = 140
_MOST_BARE_WORDS: Final = 7
_SENTENCE: Final = re.compile(r"[.;:,!?]$|^(?:\W|[a-zà-ÿ])")


@dataclass(slots=True)
class _JobBlock:
    """One element, its title with its texts, and what it says besides."""

    element: int
    end: int
    title: str
    texts: range
    fields: dict[str, str]
    is_bare: bool
    """There is nothing but the title."""
    is_marked: bool
    """The title is a heading, or is set off otherwise."""


def block_jobs(outline: Outline, page: PageWords) -> list[JobFound]:
    """Jobs of the groups of alike elements that score enough, in document order."""
    if not page.about_careers:
        return []
    scored: list[tuple[float, list[tuple[int, int]], list[_JobBlock]]] = []
    for members in (*_groups(outline), *_flat_groups(outline)):
        sample = [block for start, end in members[:_SAMPLE] if (block := _block(outline, start, end))]
        score = _score(outline, sample, len(members[:_SAMPLE]), page)
        if score >= _LEAST_SCORE:
            scored.append((score, members, sample))
    scored.sort(key=lambda entry: (-entry[0], entry[1][0]))
    taken: list[tuple[int, int]] = []
    chosen: list[_JobBlock] = []
    for _, members, sample in scored:
        if any(start < other_end and other < end for start, end in members[:_SAMPLE] for other, other_end in taken):
            continue
        more = [block for start, end in members[_SAMPLE:MOST_JOBS] if (block := _block(outline, start, end))]
        chosen += [*sample, *more]
        taken += members[:MOST_JOBS]
    chosen.sort(key=lambda block: block.element)
    links = _own_links(outline, chosen[:MOST_JOBS], page.url)
    return [found for block in chosen[:MOST_JOBS] if (found := _job(outline, block, page.url, links))]


def _own_links(outline: Outline, blocks: list[_JobBlock], url: str) -> dict[int, str]:
    """The first link of each block that no other block has, too."""
    places = [link.element for link in outline.links]
    first: dict[int, str] = {}
    for block in blocks:
        begin, end = bisect_left(places, block.element), bisect_left(places, block.end)
        inside = outline.links[begin:end][:20]
        address = next((link.url for link in inside if link.url and not leads_away(link.url)), "")
        if address and not same_page(address, url):
            first[block.element] = address
    shared = Counter(posting_key(address) for address in first.values())
    return {element: address for element, address in first.items() if shared[posting_key(address)] == 1}


def _groups(outline: Outline) -> list[list[tuple[int, int]]]:
    """Elements alike in tag, name and surroundings; those first that are named after jobs, then the many."""
    groups: dict[tuple[str, ...], list[int]] = {}
    bare: dict[str, str] = {"": ""}
    for number, tag in enumerate(outline.tags):
        if tag not in _BLOCKS or outline.chrome[number] or outline.hidden[number]:
            continue
        parent = outline.parents[number]
        names = (outline.names[number], outline.names[parent] if parent >= 0 else "")
        for name in names:
            if name not in bare:
                bare[name] = without_states(name)
        # Members of two lists are two groups; cards may stand in a section each.
        where = str(parent) if tag in _MEMBERS else outline.tags[parent] if parent >= 0 else ""
        key = (tag, bare[names[0]], where, bare[names[1]])
        groups.setdefault(key, []).append(number)
    repeated = [members for members in groups.values() if len(members) > 1]
    is_called = {id(members): JOB_CLASS.search(outline.names[members[0]]) is not None for members in repeated}
    repeated.sort(key=lambda members: (not is_called[id(members)], -len(members)))
    return [[(member, outline.ends[member]) for member in members] for members in repeated[:_MOST_GROUPS]]


def _flat_groups(outline: Outline) -> list[list[tuple[int, int]]]:
    """Titles set off in one element, each with the lines behind it, as old pages have: <b>Driver</b><br>Gulu<br>…"""
    groups: dict[tuple[int, str], list[int]] = {}
    for number, tag in enumerate(outline.tags):
        if tag not in _FLAT_TITLES or outline.chrome[number] or outline.hidden[number]:
            continue
        first = outline.text_starts[number]
        before = next((text for text in reversed(outline.texts[max(0, first - 4) : first]) if text.strip(" ")), "\n")
        if before[-1:].isspace() and outline.parents[number] >= 0:
            groups.setdefault((outline.parents[number], tag), []).append(number)
    found: list[list[tuple[int, int]]] = []
    for (parent, _), members in list(groups.items())[:MOST_JOBS]:
        stops = [*members[1:], outline.ends[parent]]
        # A title has lines of its own behind it.
        behind = [(start, stop) for start, stop in zip(members, stops, strict=True) if stop > outline.ends[start] + 1]
        if len(behind) > 1 and len(behind) * 2 > len(members):
            found.append(behind)
    found.sort(key=len, reverse=True)
    return found[:_MOST_GROUPS]


def _block(outline: Outline, element: int, end: int) -> _JobBlock | None:
    if is_closed_between(outline, element, end):
        return None
    is_flat = outline.tags[element] in _FLAT_TITLES
    marked = title_in(outline, element if is_flat else element + 1, outline.ends[element] if is_flat else end)
    titled = marked or job_line(outline, element, end)
    if titled is None:
        return None
    title, texts = titled
    if not 3 <= len(title) <= _LONGEST_TITLE or is_navigation(title) or is_news_title(title):
        return None
    if MANY_OF_THEM.match(title) or (marked is None and _SENTENCE.search(title)):
        return None
    rest = (outline.texts[index] for index in outline.text_range(element, end)[:200] if index not in texts)
    is_bare = not any(text.strip() for text in rest)
    return _JobBlock(element, end, title, texts, fields_of(outline, element, end, texts), is_bare, marked is not None)


def _score(outline: Outline, blocks: list[_JobBlock], size: int, page: PageWords) -> float:
    if len(blocks) < 2 or len(blocks) * 2 <= size:
        return 0.0
    titles = [block.title for block in blocks]
    job_like = sum(map(is_job_title, titles)) / size
    heading, nearby = above(outline, blocks[0].element)
    if CLOSED_HEADING.search(heading) or (NOT_JOBS_HEADING.search(heading) and job_like < 1):
        return 0.0
    is_headed = OPENINGS_HEADING.search(heading) is not None
    if not is_headed and (POSTING_PART.search(heading) or STORIES_HEADING.search(heading)):
        return 0.0  # what one job asks for, or who has one
    described = sum(bool(_TELLING & block.fields.keys()) for block in blocks)
    if not is_headed and not any(block.is_marked for block in blocks) and described * 2 < len(blocks):
        return 0.0
    if sum(block.is_bare for block in blocks) * 2 > len(blocks):
        # A list of plain words is one of jobs only directly under a heading of jobs.
        few_words = all(len(title.split()) <= _MOST_BARE_WORDS for title in titles)
        if not (is_headed and few_words and job_like >= 0.8):
            return 0.0
    score = 3.0 * job_like + called_jobs(outline, blocks[0].element)
    score += 2.0 * sum("deadline_raw" in block.fields for block in blocks) / size
    score += 0.75 * sum("location_raw" in block.fields for block in blocks) / size
    score += 0.75 * sum(bool({"employment_raw", "level_raw"} & block.fields.keys()) for block in blocks) / size
    score += 1.0 if page.about_openings else 0.5
    score += 1.5 if is_headed or OPENINGS_HEADING.search(nearby) else 0.0
    score -= 1.5 * sum(map(is_person, titles)) / size
    score -= 2.0 * sum(BYLINE.search(_said(outline, block)) is not None for block in blocks) / size
    score -= 2.0 if len(set(titles)) * 2 <= len(titles) else 0.0
    return score


def _said(outline: Outline, block: _JobBlock) -> str:
    numbers = outline.text_range(block.element, block.end)[:60]
    return collapse(" ".join(outline.texts[index][:500] for index in numbers))[:1000]


def _job(outline: Outline, block: _JobBlock, url: str, links: dict[int, str]) -> JobFound | None:
    owner = outline.text_owners[block.texts.start] if len(block.texts) else block.element
    around = [block.element, *(near for near in (owner, *outline.ancestors(owner, 6)) if near > block.element)]
    anchor = next((said for near in around if (said := outline.elements[near].attr("id"))), "")
    here = f"{url.partition('#')[0]}#{anchor}" if anchor and " " not in anchor else url
    address = links.get(block.element, here)
    found_by = ExtractionMethod.TABLE if outline.tags[block.element] == "tr" else ExtractionMethod.CARDS
    return job(title=without_label(block.title), apply_url=address, found_by=found_by, **block.fields)
