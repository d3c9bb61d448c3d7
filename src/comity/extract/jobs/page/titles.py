"""The title of an item: what is emphasised, what is labelled as a title, or its first line."""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.page.outline import HEADINGS, Link, Outline
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.dates import DATE
from comity.extract.jobs.words.labels import meaning_of
from comity.extract.jobs.words.pages import BADGE_CLASS, EMPLOYMENT
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation

_TITLE_NAME: Final = re.compile(
    r"(?:^|[\s_-])(?:title|titel|titre|titulo|job-?name|position|heading|headline|name|fw-bold|font-bold|bold)(?=[\s_-]|$)"
)
_TITLE_TAGS: Final = ("strong", "b", "summary", "dt", "button", "th")
_BOLD_STYLE: Final = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)")
_LONGEST_FIRST: Final = 90
BLOCK_TAGS: Final = frozenset(
    {
        "p",
        "li",
        "td",
        "div",
        "dd",
        "section",
        "article",
        "th",
        "tr",
        "figure",
        "details",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    }
)


def first_line(outline: Outline, root: int, button: str) -> tuple[str, range] | None:
    """The first line of an item without markup, or its first element's text, if short and not the button itself."""
    if outline.tags[root] == "a":
        return None
    for text, numbers in _block_lines(outline, root):
        if not text:
            continue
        if button in text:
            index = next((index for index in numbers if outline.texts[index].strip()), None)
            if index is None or outline.text_owners[index] == root:
                return None
            text, numbers = collapse(outline.texts[index][:300]), range(index, index + 1)
        is_short = 3 <= len(text) <= _LONGEST_FIRST and not text.endswith((".", ":", "!", "?"))
        is_title = is_short and not text[0].islower() and not is_generic(text) and button not in text
        return (text, numbers) if is_title else None
    return None


def job_line(outline: Outline, start: int, end: int) -> tuple[str, range] | None:
    """The first line of a stretch that reads like a job, where no markup tells the title."""
    for index in outline.text_range(start, end)[:80]:
        line = collapse(outline.texts[index][:500])
        if 3 <= len(line) <= 120 and is_job_title(line):
            return line, range(index, index + 1)
    return None


def title_of_link(outline: Outline, link: Link, shared: frozenset[str]) -> tuple[str, range] | None:
    """A link's title: a heading in it, an element called so, or its first line; none that all items share."""
    element = link.element
    end = outline.ends[element]
    if end > element + 1:
        found = title_in(outline, element + 1, end, shared)
        if found and len(found[0]) >= 3:
            return found
        blocks = [
            line
            for line in _block_lines(outline, element)
            if line[0] and line[0] not in shared and meaning_of(line[0]) is None
        ]
        if len(blocks) > 1:
            likely = [line for line in blocks[:4] if is_job_title(line[0]) and not EMPLOYMENT.fullmatch(line[0])]
            return next(iter(likely), None) or next((line for line in blocks if not _is_remark(line[0])), blocks[0])
        children = [
            number
            for number in range(element + 1, end)
            if outline.parents[number] == element and any(map(str.isalpha, outline.text(number, 100)))
        ]
        bare = any(
            outline.text_owners[index] == element and outline.texts[index].strip()
            for index in range(outline.text_starts[element], outline.text_ends[element])
        )
        if children and not bare:  # an icon before it is no part of it
            first = children[0]
            return outline.text(first, 300), range(outline.text_starts[first], outline.text_ends[first])
    shown = _without_badges(outline, element) if end > element + 1 else ""
    text = shown if shown and shown in link.text else link.text
    return text, range(outline.text_starts[element], outline.text_ends[element])


def _is_remark(line: str) -> bool:
    """Whether a line stands beside a title rather than being one: "Full-time", "3 May 2026"."""
    is_date = len(line) < 30 and DATE.match(line) is not None
    return is_date or EMPLOYMENT.fullmatch(line) is not None or is_generic(line)


def _block_lines(outline: Outline, element: int) -> list[tuple[str, range]]:
    """Lines of an element as a browser would break them."""
    lines: list[tuple[str, range]] = []
    begin = outline.text_starts[element]
    stop = min(outline.text_ends[element], begin + 200)
    for index in range(begin, stop + 1):
        if index == stop or outline.texts[index] == "\n":
            lines.append((_line(outline, begin, index), range(begin, index)))
            begin = index + 1
    return lines


def _line(outline: Outline, begin: int, end: int) -> str:
    """What a line says, without a label at its beginning that is an element of its own."""
    numbers = [index for index in range(begin, end) if outline.texts[index].strip()]
    if len(numbers) > 1 and outline.text_owners[numbers[0]] != outline.text_owners[numbers[1]]:
        first = outline.text_owners[numbers[0]]
        if "label" in outline.names[first] or meaning_of(outline.texts[numbers[0]][:80]) == "title":
            begin = numbers[1]
    return collapse("".join(outline.texts[begin:end])[:2000])


def title_in(outline: Outline, start: int, end: int, shared: frozenset[str] = frozenset()) -> tuple[str, range] | None:
    """The title in a stretch: a heading, else an element called title, else something bold; none that all share."""
    stretch = range(start, min(end, start + 300))
    summary = next((number for number in stretch[:4] if outline.tags[number] == "summary"), None)
    if summary is not None:  # what opens a part names it
        inner = title_in(outline, summary + 1, outline.ends[summary], shared)
        text, texts = inner or _first_of(outline, summary)
        if len(text) >= 2 and text not in shared:
            return text, texts
    heading = next((number for number in stretch if _is_heading(outline, number)), end)
    # What is called a title and stands above a heading that is none: the heading is that of a part.
    if heading < end and not is_job_title(outline.text(heading, 300)):
        for number in range(start, min(heading, start + 30)):
            if _is_called_title(outline, number) and outline.ends[number] <= heading:
                text, texts = _title_text(outline, number)
                if is_job_title(text):
                    return text, texts
    for wanted in (_is_heading, _is_called_title, _is_bold):
        for number in stretch:
            if wanted(outline, number):
                text, texts = _title_text(outline, number)
                if (
                    len(text) >= 2
                    and text not in shared
                    and not is_generic(text)
                    and not is_navigation(text)
                    and not text.endswith((":", "："))
                ):
                    return text, texts
    return None


def _first_of(outline: Outline, number: int) -> tuple[str, range]:
    """What the first element in another says, where there is more than one; else all that it says."""
    children = [
        inner
        for inner in range(number + 1, outline.ends[number])
        if outline.parents[inner] == number and any(map(str.isalpha, outline.text(inner, 100)))
    ]
    first = children[0] if len(children) > 1 else number
    return outline.text(first, 300), range(outline.text_starts[first], outline.text_ends[first])


def _title_text(outline: Outline, number: int) -> tuple[str, range]:
    """What a title says; of blocks inside it the one that reads like a job, else the first."""
    if any(outline.tags[inner] in BLOCK_TAGS for inner in range(number + 1, outline.ends[number])[:40]):
        lines = [line for line in _block_lines(outline, number) if line[0]]
        if len(lines) > 1:
            return next((line for line in lines[:4] if is_job_title(line[0])), lines[0])
    return _without_badges(outline, number), range(outline.text_starts[number], outline.text_ends[number])


def _without_badges(outline: Outline, element: int) -> str:
    """What an element says without marks such as "New", which stand in an element of their own."""
    end = outline.ends[element]
    if end == element + 1:
        return outline.text(element, 300)
    badges = {
        index
        for number in range(element + 1, end)[:40]
        if outline.names[number] and BADGE_CLASS.search(outline.names[number])
        for index in range(outline.text_starts[number], outline.text_ends[number])
    }
    numbers = range(outline.text_starts[element], outline.text_ends[element])[:100]
    bare = collapse("".join(outline.texts[index] for index in numbers if index not in badges)[:1000])[:300]
    return bare if len(bare) > 2 else outline.text(element, 300)


def _is_heading(outline: Outline, number: int) -> bool:
    return outline.tags[number] in HEADINGS


def _is_called_title(outline: Outline, number: int) -> bool:
    return bool(outline.names[number]) and _TITLE_NAME.search(outline.names[number]) is not None


def _is_bold(outline: Outline, number: int) -> bool:
    if outline.tags[number] in _TITLE_TAGS:
        return True
    return (
        outline.tags[number] in ("span", "p", "div")
        and _BOLD_STYLE.search(outline.elements[number].attr("style") or "") is not None
    )
