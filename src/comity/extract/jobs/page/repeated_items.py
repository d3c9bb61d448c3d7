"""Jobs in lists and cards: takes groups of similar items, returns those whose words and context are about jobs.

The score is a sum of shares: how many titles read like jobs, how many items have a deadline, what the heading above and
the page itself say; headlines, events, people and navigation count against it. Bench: bench/extraction.py.

Items of a list are compared column by column, because the same position holds the same kind of value in each, in any
language: a little-known town stands where other items have well-known towns; a department stands where no item has a
town.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections import Counter
from enum import Enum
from typing import Final

from comity.extract.jobs.addresses import own_query, path_of
from comity.extract.jobs.page.candidates import Item, LinkGroup, groups_of
from comity.extract.jobs.page.fields import GUESSED, SPLIT, guessed_fields
from comity.extract.jobs.page.outline import HEADINGS, Outline
from comity.extract.jobs.text import collapse, is_known_place, job, may_be_known
from comity.extract.jobs.words.dates import DATE, deadline_in
from comity.extract.jobs.words.labels import labelled, meaning_of
from comity.extract.jobs.words.pages import (
    APPLY_WORDS,
    BYLINE,
    CAREERS,
    CLOSED_HEADING,
    CLOSED_MARK,
    COUNT_OF_JOBS,
    EMPLOYMENT,
    JOB_CLASS,
    JOB_PATH,
    NO_OPENINGS,
    NOT_JOB_CLASS,
    NOT_JOB_PATH,
    NOT_JOBS_HEADING,
    OPENINGS_HEADING,
    SYSTEM_HOST,
)
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation, is_news_title
from comity.model.dataclass import dataclass
from comity.model.job import ExtractionMethod, JobFound

LEAST_SCORE: Final = 3.25
_KIN_SCORE: Final = 1.5
MOST_JOBS: Final = 5_000
_KIN_SHARE: Final = 0.8
_LONGEST_MARK: Final = 60
_SAMPLE: Final = 60
_MOST_WORDS: Final = 200_000  # texts that are looked at for fields
_PERSON: Final = re.compile(r"(?:(?:Dr|Prof|Mr|Mrs|Ms)\.? )?[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ]\.)?(?: [A-ZÀ-Þ][\w'’-]+){1,2}")
_DOCUMENT: Final = re.compile(r"\.(?:pdf|docx?|odt|rtf)$")
_HEADING_REACH: Final = 400
_LEAST_ITEMS: Final = 3
_OTHERS: Final = 3.0
_OF_A_JOB: Final = 1.5
_TELLING: Final = frozenset({"deadline_raw", "posted_raw", "location_raw", "employment_raw"})
_YEAR: Final = re.compile(r"(?<!\d)(?:20[2-4]\d|14[0-4]\d|25[6-9]\d)(?!\d)")
_LONGEST_TITLE: Final = 160
_MOST_TITLE_WORDS: Final = 16
_MOST_ITEMS: Final = 500
_MOST_TEXTS: Final = 60
_LONGEST: Final = 60
_LEAST_VOTES: Final = 2
_LEAST_SHARE: Final = 0.3
_LEAST_UNKNOWN: Final = 3
_Column = tuple[str, int]


class Fluency(Enum):
    """How well the words of a page are known."""

    FLUENT = 3.25
    """Most jobs are known by their titles: a list without any is none. The value is the least score of a list."""
    FAIR = 2.0
    """Headings and labels are known, titles often not."""
    NONE = 0.4
    """Nothing is known: only structure speaks."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """What a page says of itself."""

    url: str
    about_careers: bool
    about_openings: bool
    about_others: bool = False
    """It says that it is about tenders, courses, events or grants, and not about jobs."""
    reading: Fluency = Fluency.FLUENT
    """How well we know the language: where we do not, the shape of a list must do."""


@dataclass(slots=True)
class _Run:
    """Items of one group that stand together."""

    group: LinkGroup
    items: list[Item]
    fields: list[dict[str, str]]
    score: float = 0.0
    is_apart: bool = False
    """The heading above says that these are something else, whatever their kin are."""


def repeated_jobs(outline: Outline, page: PageWords) -> tuple[list[JobFound], float]:
    """Jobs of every run that scores enough, in document order, and the best score."""
    room = [_MOST_WORDS]
    runs = [run for group in groups_of(outline, page.url) for run in _runs(outline, group, room)]
    runs = [run for run in runs if run.items]
    for run in runs:
        _settle_places(outline, run.items, run.fields)
        _place_by_heading(outline, run)
        _drop_strangers(run)
        run.score = _score(outline, run, page)
    # Where titles are links, they lead to the jobs, and buttons beside them to forms.
    # Of two links in one item, the heading's own is the job's.
    runs.sort(
        key=lambda run: (run.group.by_button, -run.score - 1.0 * _is_headed(outline, run.items[0]), run.items[0].start)
    )
    taken: list[tuple[int, int]] = []
    accepted: list[tuple[Item, dict[str, str]]] = []
    kin: set[int] = set()
    least = {LEAST_SCORE, _KIN_SCORE}
    if page.about_careers and page.reading is not Fluency.FLUENT and not any(_is_sure(run) for run in runs):
        # Where no list is known by its words, the one that looks most like it is taken.
        likely = _likeliest(outline, runs, page)
        around = {outline.parents[item.root] for item in likely.items} if likely else set()
        runs = [run for run in runs if run.group is likely or outline.parents[run.items[0].root] in around]
        least = {min(_KIN_SCORE, page.reading.value), page.reading.value}
    for run in runs:
        if run.is_apart or run.score < (min(least) if id(run.group) in kin else max(least)):
            continue
        fresh = [
            (item, fields) for item, fields in zip(run.items, run.fields, strict=True) if not _overlaps(taken, item)
        ]
        if len(fresh) * 2 < len(run.items):
            continue
        kin.add(id(run.group))
        accepted += fresh
        for item, _ in fresh:
            insort(taken, (item.start, item.end))
        if len(accepted) >= MOST_JOBS:
            break
    accepted.sort(key=lambda pair: pair[0].start)
    jobs = [found for item, fields in accepted[:MOST_JOBS] if (found := _job(outline, item, fields))]
    return jobs, max((run.score for run in runs), default=0.0)


def _place_by_heading(outline: Outline, run: _Run) -> None:
    """Jobs that are grouped by place have it in the heading above them."""
    if any("location_raw" in said for said in run.fields):
        return
    heading, _ = above(outline, run.items[0].start)
    if is_known_place(heading):
        for said in run.fields:
            said["location_raw"] = heading


def _is_sure(run: _Run) -> bool:
    return not run.is_apart and run.score >= LEAST_SCORE


def _likeliest(outline: Outline, runs: list[_Run], page: PageWords) -> LinkGroup | None:
    """Of the groups that have the shape of a list, the one that scores best; the longer one of two alike."""
    groups: dict[int, list[_Run]] = {}
    for run in runs:
        if not run.is_apart and run.score >= min(page.reading.value, _KIN_SCORE):
            groups.setdefault(id(run.group), []).append(run)
    best: tuple[float, LinkGroup] | None = None
    for members in groups.values():
        items = [item for run in members for item in run.items]
        if max(run.score for run in members) < page.reading.value or not _is_list(items):
            continue
        if not _tells_of_jobs(outline, items, members, page):
            continue
        score = max(run.score for run in members) + min(1.0, 0.1 * len(items)) - 0.5 * members[0].group.by_button
        if best is None or score > best[0]:
            best = (score, members[0].group)
    return best[1] if best else None


def _is_list(items: list[Item]) -> bool:
    """Whether items are alike and each is one thing: short titles that differ, and addresses of their own."""
    size = len(items)
    titles = {item.title for item in items}
    addresses = {item.link.url for item in items}
    if size < _LEAST_ITEMS or len(titles) * 3 < size * 2 or len(addresses) * 3 < size * 2:
        return False
    return max(map(len, titles)) <= _LONGEST_TITLE and sum(map(_is_sentence, titles)) * 3 <= len(titles)


def _tells_of_jobs(outline: Outline, items: list[Item], runs: list[_Run], page: PageWords) -> bool:
    """Whether most items have a date or a place, or else are named or addressed as jobs are."""
    size = len(items)
    detailed = sum(bool(_TELLING & said.keys()) for run in runs for said in run.fields)
    if detailed * 2 >= size:
        return True
    if page.reading is Fluency.FAIR:
        return False
    dated = sum(_YEAR.search(_words(outline, item)) is not None for item in items)
    addressed = sum(_address_score(item.link.url, page.url) for item in items) / size
    return dated * 2 >= size or called_jobs(outline, items[0].root) > 0 or addressed >= _OF_A_JOB


def _is_sentence(title: str) -> bool:
    return title.endswith((".", "!", "?", "…", "。", "।", "؟")) or len(title.split()) > _MOST_TITLE_WORDS


def _is_headed(outline: Outline, item: Item) -> bool:
    """Whether an item's link is in a heading or around one."""
    link = item.link.element
    around = outline.ancestors(link, 3)
    inside = range(link + 1, min(outline.ends[link], link + 12))
    return any(outline.tags[number] in HEADINGS for number in (*around, *inside))


def _drop_strangers(run: _Run) -> None:
    """Leave out the few links of a run that plainly lead elsewhere: "Contact" at the end of a list of jobs."""
    strange = [
        NOT_JOB_PATH.search(path_of(item.link.url)) is not None and not is_job_title(item.title) for item in run.items
    ]
    if 0 < sum(strange) * 3 <= len(strange):
        run.fields = [fields for fields, is_strange in zip(run.fields, strange, strict=True) if not is_strange]
        run.items = [item for item, is_strange in zip(run.items, strange, strict=True) if not is_strange]


def _overlaps(taken: list[tuple[int, int]], item: Item) -> bool:
    at = bisect_right(taken, (item.start, 1 << 60))
    return (at > 0 and taken[at - 1][1] > item.start) or (at < len(taken) and taken[at][0] < item.end)


def _runs(outline: Outline, group: LinkGroup, room: list[int]) -> list[_Run]:
    """Split a group by the elements that hold its items; what is read of all items together is bounded by the room."""
    runs: list[_Run] = []
    last: Item | None = None
    for item in group.items:
        together = last is not None and outline.parents[item.root] == outline.parents[last.root]
        if last is None or not together or _heading_between(outline, last.end, item.start):
            runs.append(_Run(group, [], []))
        last = item
        if is_closed_between(outline, item.start, item.end):
            continue
        runs[-1].items.append(item)
        room[0] -= len(outline.text_range(item.start, item.end))
        runs[-1].fields.append(guessed_fields(outline, item.start, item.end, item.title_texts) if room[0] > 0 else {})
    return runs


def is_closed_between(outline: Outline, start: int, end: int) -> bool:
    """Whether a badge in a stretch of the page says that the job is gone."""
    numbers = outline.text_range(start, end)[:80]
    return any(
        len(text) <= _LONGEST_MARK and CLOSED_MARK.fullmatch(text.strip(" \t\r\n.,;–-()[]"))
        for text in (outline.texts[index] for index in numbers)
        if text != "\n"
    )


def _heading_between(outline: Outline, end: int, start: int) -> bool:
    return any(outline.tags[number] in HEADINGS for number in range(end, min(start, end + _HEADING_REACH)))


def _score(outline: Outline, run: _Run, page: PageWords) -> float:
    sample = run.items[:_SAMPLE]
    fields = run.fields[:_SAMPLE]
    size = len(sample)
    titles = [item.title for item in sample]
    job_like = sum(map(is_job_title, titles)) / size
    score = 3.0 * job_like
    score += sum(_address_score(item.link.url, page.url) for item in sample) / size
    score += 2.0 * sum("deadline_raw" in said for said in fields) / size
    score += 0.75 * sum("location_raw" in said for said in fields) / size
    score += 0.75 * sum(bool({"employment_raw", "level_raw", "reference"} & said.keys()) for said in fields) / size
    score += called_jobs(outline, sample[0].root)
    score += 1.0 if page.about_openings else 0.5 if page.about_careers else 0.0
    score -= _OTHERS * (1.0 - job_like) if page.about_others else 0.0
    heading, nearby = above(outline, sample[0].start)
    if CLOSED_HEADING.search(heading):
        run.is_apart = True
    elif NOT_JOBS_HEADING.search(heading) and not is_job_title(heading):
        score -= 3.0
        run.is_apart = job_like < _KIN_SHARE  # "People" is also a department
    elif OPENINGS_HEADING.search(heading) or (OPENINGS_HEADING.search(nearby) and not NO_OPENINGS.search(nearby)):
        score += 1.5
    elif is_navigation(heading) and CAREERS.search(heading):
        score += 0.75  # "Jobs", "Careers"
    score -= 2.0 * sum(BYLINE.search(_words(outline, item)) is not None for item in sample) / size
    score -= 2.5 * sum(map(is_news_title, titles)) / size
    score -= 2.5 * sum(_is_category(outline, item) for item in sample) / size
    score -= 1.5 * sum(map(is_person, titles)) / size
    score -= 2.0 * sum(title[0].islower() for title in titles) / size  # words of a sentence
    score -= 1.5 if sum(map(len, titles)) / size > 120 else 0.0
    score -= 1.0 if len(set(titles)) * 2 <= size and size > 2 else 0.0
    if run.group.by_button:
        # A title that is itself a link is the surer sign, unless the buttons say what one does with jobs.
        score += sum(1.0 if APPLY_WORDS.search(item.link.text) else -0.5 for item in sample) / size
    return score


def _is_category(outline: Outline, item: Item) -> bool:
    """Whether an item counts jobs rather than being one: "Design: 3 open roles"."""
    return not is_job_title(item.title) and COUNT_OF_JOBS.search(_words(outline, item)) is not None


def is_person(title: str) -> bool:
    """Whether a title reads like a person's name, and not like a job."""
    return _PERSON.fullmatch(title) is not None and not is_job_title(title)


def _address_score(url: str, page_url: str) -> float:
    path = path_of(url)
    is_document = _DOCUMENT.search(path) is not None
    own = path_of(page_url).rstrip("/")
    # What an address shares with its page's own says nothing about it.
    said = path[len(own) :] if own and path.startswith(own) else path
    is_of_jobs = own != "" and (JOB_PATH.search(own) is not None or CAREERS.search(own) is not None)
    if NOT_JOB_PATH.search(said if is_of_jobs else path) and not is_document:
        return -2.5
    if SYSTEM_HOST.search(url[:200]):
        return 1.5
    query = own_query(url).lower()
    if JOB_PATH.search(said) or JOB_PATH.search(query):
        return 1.5
    if is_document:
        return 0.5
    return 1.0 if is_of_jobs and path.startswith(own + "/") else 0.0


def called_jobs(outline: Outline, root: int) -> float:
    """Whether the elements around an item are named after jobs; the nearer, the surer."""
    for distance, number in enumerate((root, *outline.ancestors(root, 3))):
        if outline.tags[number] != "body" and JOB_CLASS.search(outline.names[number]):
            return 1.5 if distance < 2 else 1.0
        if distance < 2 and NOT_JOB_CLASS.search(outline.names[number]):
            return -1.5
    return 0.0


def above(outline: Outline, start: int) -> tuple[str, str]:
    """The heading above an item, and the few words right before it."""
    heading = ""
    for number in range(start - 1, max(-1, start - _HEADING_REACH), -1):
        if outline.tags[number] in HEADINGS and not outline.chrome[number]:
            heading = outline.text(number, 200)
            break
    first = outline.text_starts[start]
    nearby = next(
        (line for text in reversed(outline.texts[max(0, first - 8) : first]) if (line := collapse(text[-1000:]))), ""
    )
    return heading, nearby[-120:]


def _words(outline: Outline, item: Item) -> str:
    numbers = outline.text_range(item.start, item.end)
    return collapse(" ".join(outline.texts[index][:1000] for index in numbers[:60]))[:1000]


def _job(outline: Outline, item: Item, fields: dict[str, str]) -> JobFound | None:
    tag = outline.tags[item.root]
    if tag in ("tr", "td", "tbody"):
        found_by = ExtractionMethod.TABLE
    elif tag in ("li", "p", "dt", "dd", "a", "strong", "span", "b", "font"):
        found_by = ExtractionMethod.LIST
    else:
        found_by = ExtractionMethod.CARDS
    if "deadline_raw" not in fields and (deadline := deadline_in(item.title)):
        fields = {**fields, "deadline_raw": deadline}
    return job(title=item.title, apply_url=item.link.url, found_by=found_by, **fields)


def _settle_places(outline: Outline, items: list[Item], fields: list[dict[str, str]]) -> None:
    """Fill in places from the column in which others have theirs, and drop guesses from a column without any."""
    if len(items) < 2:
        for said in fields:
            said.pop(GUESSED, None)
        return
    cells = [_cells(outline, item) for item in items[:_MOST_ITEMS]]
    votes: Counter[_Column] = Counter()
    sure: Counter[_Column] = Counter()
    filled: Counter[_Column] = Counter()
    for texts, said in zip(cells, fields, strict=False):
        for place, text in texts.items():
            filled[place] += 1
            if is_known_place(text):
                sure[place] += 1
            if text == said.get("location_raw") and GUESSED not in said:
                votes[place] += 1
    column = _best(votes, sure, filled, len(cells))
    for texts, said in zip(cells, fields, strict=False):
        is_guess = said.pop(GUESSED, None) is not None
        named = said.get("location_raw", "")
        if column is not None and (not named or is_guess) and (text := texts.get(column, "")) and _may_be_place(text):
            said["location_raw"] = text
        elif is_guess and column is None and len(cells) >= _LEAST_UNKNOWN and may_be_known(named):
            del said["location_raw"]
    for said in fields[_MOST_ITEMS:]:
        said.pop(GUESSED, None)


def _best(votes: Counter[_Column], sure: Counter[_Column], filled: Counter[_Column], size: int) -> _Column | None:
    """The column in which places stand: by those that were recognised, else by well-known places."""
    for counter in (votes, sure):
        ranked = sorted(counter, key=lambda column: (-counter[column], -filled[column]))
        if ranked and counter[ranked[0]] >= max(_LEAST_VOTES, _LEAST_SHARE * size):
            return ranked[0]
    return None


def _may_be_place(text: str) -> bool:
    return (
        2 <= len(text) <= _LONGEST
        and labelled(text) is None
        and meaning_of(text) is None
        and not DATE.search(text)
        and not EMPLOYMENT.search(text)
        and not is_generic(text)
        and any(map(str.isalpha, text))
    )


def _cells(outline: Outline, item: Item) -> dict[_Column, str]:
    """Texts of an item by where they stand: the elements around each, and its part of a line with separators."""
    cells: dict[_Column, str] = {}
    counts: Counter[str] = Counter()
    for index in outline.text_range(item.start, item.end)[:_MOST_TEXTS]:
        text = outline.texts[index]
        owner = outline.text_owners[index]
        if text == "\n" or index in item.title_texts or outline.chrome[owner] or not (line := collapse(text[:300])):
            continue
        around = [owner, *(near for near in outline.ancestors(owner, 6) if near >= item.start)]
        path = ">".join(f"{outline.tags[near]}.{outline.names[near][:40]}" for near in around)
        counts[path] += 1
        for part, said in enumerate(SPLIT.split(line)[:8]):
            bare = said.strip(" ,;:–—-|")
            bare = bare[1:-1] if bare[:1] == "(" and bare[-1:] == ")" else bare
            if bare:
                cells[(f"{path} {counts[path]}", part)] = bare
    return cells
