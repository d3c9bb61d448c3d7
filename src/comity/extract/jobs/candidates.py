"""Repeated structure: links in alike places become items, each with its stretch of the page and its title."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import Final

from comity.extract.jobs.addresses import posting_key, same_page
from comity.extract.jobs.outline import HEADINGS, Link, Outline
from comity.extract.jobs.place_rows import rows_of
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words_labels import DATE, meaning_of, without_label
from comity.extract.jobs.words_pages import EMPLOYMENT
from comity.extract.jobs.words_titles import is_generic, is_job_title, is_navigation

MOST_CANDIDATES: Final = 6_000
_CLIMB: Final = 30
_STATES: Final = re.compile(
    r"(?:^|[\s_-])(?:odd|even|first|last|active|featured|sticky|new|open|closed|is-\w+|has-\w+)(?=[\s_-]|$)|\d+"
)
_FLAT: Final = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "dt", "strong", "b", "a", "span", "summary", "em", "font"}
)
_STOPS: Final = frozenset({"body", "main", "article", "section", "ul", "ol", "table", "tbody", "form", "html"})
_TITLE_NAME: Final = re.compile(
    r"(?:^|[\s_-])(?:title|titel|titre|titulo|job-?name|position|heading|headline|name|fw-bold|font-bold|bold)(?=[\s_-]|$)"
)
_TITLE_TAGS: Final = ("strong", "b", "summary", "dt", "button", "th")
_BOLD_STYLE: Final = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)")
_BUTTON_NAME: Final = re.compile(r"(?:^|[\s_-])(?:btn|button|cta|read-?more|more-link)(?=[\s_-]|$)")
_LONGEST_BUTTON: Final = 40
_LONGEST_FIRST: Final = 90
_FLAT_SIBLINGS: Final = 60
_BLOCK_TAGS: Final = frozenset(
    {"p", "li", "td", "div", "dd", "section", "article", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}
)


@dataclass(slots=True)
class Item:
    """One candidate: its link, the stretch of the page that is about it, and the title with its texts."""

    link: Link
    root: int
    start: int
    end: int
    title: str
    title_texts: range


@dataclass(slots=True)
class Group:
    """Items whose links stand in alike places."""

    items: list[Item]
    by_button: bool


def groups_of(outline: Outline, url: str) -> list[Group]:
    """Every group of candidate items on a page, in document order of their first."""
    buttons: dict[str, list[Link]] = {}
    titled: dict[str, list[Link]] = {}
    blocks: set[int] = set()
    everything: list[int] = []
    for link in outline.links[: 2 * MOST_CANDIDATES]:
        if outline.chrome[link.element] or not link.url or "{{" in link.text:
            continue
        if same_page(link.url, url) and ("#" not in link.url or link.url.endswith("#")):
            continue
        if is_navigation(link.text) or _in_header_cell(outline, link.element):
            continue
        if is_generic(link.text) or _is_button(outline, link):
            block = _block(outline, link.element)
            if block in blocks:
                continue  # "Job description | Application form": the first is the job's own
            blocks.add(block)
            buttons.setdefault(_signature(outline, link.element), []).append(link)
        else:
            everything.append(link.element)
            titled.setdefault(_signature(outline, link.element), []).append(link)
    for signature in list(titled):
        _move_buttons(titled, buttons, signature)
    groups = [
        _group(outline, rows_of(outline, links[:MOST_CANDIDATES]), everything, by_button=False)
        for links in titled.values()
    ]
    groups += [_group(outline, _own(links, url), everything, by_button=True) for links in buttons.values()]
    return [group for group in groups if group.items]


def _move_buttons(titled: dict[str, list[Link]], buttons: dict[str, list[Link]], signature: str) -> None:
    """Links that say the same, but lead to different places, are buttons in other words."""
    by_text: dict[str, list[Link]] = {}
    for link in titled[signature]:
        by_text.setdefault(link.text, []).append(link)
    same = [links for links in by_text.values() if len(links) > 1 and len(_distinct(links)) > 1]
    for links in same:
        if not is_job_title(links[0].text):  # "Driver" twice is two jobs
            buttons.setdefault(signature, []).extend(links)
            titled[signature] = [link for link in titled[signature] if link.text != links[0].text]
    if not titled[signature]:
        del titled[signature]


def _distinct(links: list[Link]) -> list[Link]:
    """One link per posting and words: a picture and a title often lead to the same place."""
    seen: set[str] = set()
    kept: list[Link] = []
    for link in links[:MOST_CANDIDATES]:
        key = posting_key(link.url)
        if key not in seen:
            seen.add(key)
            kept.append(link)
    return kept


def _own(links: list[Link], url: str) -> list[Link]:
    """One link per posting. Where all buttons lead to one form, the jobs have no address but the page's."""
    distinct = _distinct(links)
    if len(distinct) > 1 or len(links) < 2:
        return distinct
    return [Link(link.element, url, link.text) for link in links[:MOST_CANDIDATES]]


def _is_button(outline: Outline, link: Link) -> bool:
    """Whether a link is made to look like a button, and does not say a job's title."""
    if len(link.text) > _LONGEST_BUTTON or is_job_title(link.text):
        return False
    parent = outline.parents[link.element]
    return any(_BUTTON_NAME.search(outline.names[number]) for number in (link.element, parent) if number >= 0)


def _in_header_cell(outline: Outline, element: int) -> bool:
    """Whether a link sorts a table."""
    return any(outline.tags[number] in ("th", "thead") for number in outline.ancestors(element, 6))


def _block(outline: Outline, element: int) -> int:
    for number in (element, *outline.ancestors(element, _CLIMB)):
        if outline.tags[number] in _BLOCK_TAGS:
            return number
    return element


def _signature(outline: Outline, element: int) -> str:
    """What alike places have in common: the tags above, and the first name of the nearest few elements."""
    parts: list[str] = []
    for depth, number in enumerate((element, *outline.ancestors(element, 9))):
        name = ""
        if depth < 4 and outline.names[number]:
            name = without_states(outline.names[number])
        parts.append(f"{outline.tags[number]}.{name}")
    return ">".join(parts)


def without_states(names: str) -> str:
    """The first of an element's names that does not tell its place in the row, or a passing state."""
    bare = _STATES.sub("", names).split()
    return bare[0] if bare else ""


def _group(outline: Outline, links: list[Link], everything: list[int], *, by_button: bool) -> Group:
    links = sorted(links, key=lambda link: link.element)
    places = [link.element for link in links]
    roots: list[list[int]] = []
    for link in links:
        path = [link.element, *outline.ancestors(link.element, _CLIMB)]
        rivals = places if len(places) > 1 else everything
        height = 0
        while height + 1 < len(path) and _alone(outline, path[height + 1], link.element, rivals):
            if len(places) == 1 and (outline.tags[path[height + 1]] in _STOPS or _crowded(outline, path[height + 1])):
                break
            height += 1
        roots.append(path[: height + 1])
    # One item in a section of its own would climb higher than its kind; the usual height counts for all.
    usual = Counter(len(path) for path in roots).most_common(1)[0][0] if roots else 1
    if len(roots) > 1:
        roots = [path[:usual] for path in roots]
    items: list[Item] = []
    for index, (link, path) in enumerate(zip(links, roots, strict=True)):
        following = roots[index + 1][-1] if index + 1 < len(roots) else None
        item = _item(outline, link, path[-1], following, _back(outline, roots, index) if by_button else None)
        if item is not None:
            items.append(item)
    return Group(items, by_button)


def _back(outline: Outline, roots: list[list[int]], index: int) -> int:
    """Where the words that belong to a button may begin: behind the item before it.

    The first has no item before it: as much belongs to it as to the second; a single one gets its nearest heading.
    """
    root = roots[index][-1]
    parent = outline.parents[root]
    if index:
        before = outline.ends[roots[index - 1][-1]]
        return before if before > parent else root
    if len(roots) > 1 and outline.parents[roots[1][-1]] == parent:
        gap = roots[1][-1] - outline.ends[root]
        return max(parent + 1, root - min(gap, _FLAT_SIBLINGS))
    for number in range(root - 1, max(parent, root - _FLAT_SIBLINGS), -1):
        if outline.tags[number] in HEADINGS:
            return number
    return root


def _alone(outline: Outline, ancestor: int, element: int, rivals: list[int]) -> bool:
    """Whether an ancestor holds no rival of a link."""
    inside = bisect_left(rivals, outline.ends[ancestor]) - bisect_left(rivals, ancestor)
    here = bisect_left(rivals, element)
    return inside <= (1 if here < len(rivals) and rivals[here] == element else 0)


def _crowded(outline: Outline, ancestor: int) -> bool:
    """Whether an element is too large to be about one job only."""
    return outline.text_ends[ancestor] - outline.text_starts[ancestor] > 120


def _item(outline: Outline, link: Link, root: int, following: int | None, back: int | None = None) -> Item | None:
    start, end = root, outline.ends[root]
    if outline.tags[root] in _FLAT:
        parent = outline.parents[root]
        limit = outline.ends[parent] if parent >= 0 else end
        if following is not None and outline.parents[following] == parent:
            limit = min(limit, following)
        end = _flat_end(outline, end, limit)
    if back is None:
        titled = _title_of_link(outline, link)
    else:
        titled = title_in(outline, start, outline.ends[root]) or _first_line(outline, root, link.text)
        if titled is None and back < start:
            titled = title_in(outline, back, root) or job_line(outline, back, root)
            # What stands before a button is about it; what follows, about the next.
            start, end = back, outline.ends[root]
    if titled is None:
        return None
    title, texts = titled
    title = without_label(title)
    if not 3 <= len(title) <= 250 and not (len(title) >= 2 and ord(title[0]) > 0x2E80):
        return None
    return Item(link, root, start, end, title, texts)


def _first_line(outline: Outline, root: int, button: str) -> tuple[str, range] | None:
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


def _flat_end(outline: Outline, start: int, limit: int) -> int:
    """Where the texts behind a title stop: at the next heading, or soon."""
    for number in range(start, min(limit, start + _FLAT_SIBLINGS)):
        if outline.tags[number] in HEADINGS or outline.tags[number] == "hr":
            return number
    return min(limit, start + _FLAT_SIBLINGS)


def _title_of_link(outline: Outline, link: Link) -> tuple[str, range] | None:
    """A link's title: a heading in it, an element called so, or its first line."""
    element = link.element
    end = outline.ends[element]
    if end > element + 1:
        found = title_in(outline, element + 1, end)
        if found and len(found[0]) >= 3:
            return found
        blocks = [line for line in _block_lines(outline, element) if line[0] and meaning_of(line[0]) is None]
        if len(blocks) > 1:
            likely = [line for line in blocks[:4] if is_job_title(line[0]) and not EMPLOYMENT.fullmatch(line[0])]
            return next(iter(likely), None) or next((line for line in blocks if not _is_remark(line[0])), blocks[0])
        children = [
            number for number in range(element + 1, end) if outline.parents[number] == element and outline.text(number)
        ]
        bare = any(
            outline.text_owners[index] == element and outline.texts[index].strip()
            for index in range(outline.text_starts[element], outline.text_ends[element])
        )
        if len(children) > 1 and not bare:
            first = children[0]
            return outline.text(first, 300), range(outline.text_starts[first], outline.text_ends[first])
    return link.text, range(outline.text_starts[element], outline.text_ends[element])


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
            lines.append((collapse("".join(outline.texts[begin:index])[:2000]), range(begin, index)))
            begin = index + 1
    return lines


def title_in(outline: Outline, start: int, end: int) -> tuple[str, range] | None:
    """The title in a stretch: a heading, else an element called title, else something bold."""
    stretch = range(start, min(end, start + 300))
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
                    and not is_generic(text)
                    and not is_navigation(text)
                    and not text.endswith((":", "："))
                ):
                    return text, texts
    return None


def _title_text(outline: Outline, number: int) -> tuple[str, range]:
    """What a title says; of blocks inside it the one that reads like a job, else the first."""
    if any(outline.tags[inner] in _BLOCK_TAGS for inner in range(number + 1, outline.ends[number])[:40]):
        lines = [line for line in _block_lines(outline, number) if line[0]]
        if len(lines) > 1:
            return next((line for line in lines[:4] if is_job_title(line[0])), lines[0])
    return outline.text(number, 300), range(outline.text_starts[number], outline.text_ends[number])


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
