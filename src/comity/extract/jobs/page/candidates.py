"""Repeated structure: links in similar positions become items, each with its part of the page and its title.

Links to one posting become one item, or one per row where the rows are its places. The title is what is emphasised,
what is labelled as a title, or the first line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from comity.extract.jobs.addresses import leads_away, posting_key, same_page
from comity.extract.jobs.page.outline import HEADINGS, Link, Outline
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.dates import DATE
from comity.extract.jobs.words.labels import labelled, meaning_of, without_label
from comity.extract.jobs.words.pages import BADGE_CLASS, EMPLOYMENT
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation
from comity.model.dataclass import dataclass

_MOST_TEXT: Final = 400
_TITLE_NAME: Final = re.compile(
    r"(?:^|[\s_-])(?:title|titel|titre|titulo|job-?name|position|heading|headline|name|fw-bold|font-bold|bold)(?=[\s_-]|$)"
)
_TITLE_TAGS: Final = ("strong", "b", "summary", "dt", "button", "th")
_BOLD_STYLE: Final = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)")
_LONGEST_FIRST: Final = 90
_BLOCK_TAGS: Final = frozenset(
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


def rows_of(outline: Outline, links: list[Link]) -> list[Link]:
    """One link per posting, or per row where a posting is listed once for each of its places."""
    first: dict[str, Link] = {}
    kept: list[Link] = []
    for link in links:
        before = first.setdefault(posting_key(link.url), link)
        if before is link or (link.text == before.text and _is_other_row(outline, before.element, link.element)):
            kept.append(link)
    return kept


def _is_other_row(outline: Outline, element: int, other: int) -> bool:
    """Whether two links stand in alike elements side by side, each of which says more than its link."""
    path = [element, *outline.ancestors(element, _CLIMB)]
    child_of = {number: path[height] for height, number in enumerate(path[1:])}
    below = other
    for number in outline.ancestors(other, _CLIMB):
        if number in child_of:
            row = child_of[number]
            is_alike = outline.tags[row] == outline.tags[below] and row != element and below != other
            return is_alike and _says_more(outline, row, element) and _says_more(outline, below, other)
        below = number
    return False


def _says_more(outline: Outline, row: int, link: int) -> bool:
    return len(outline.text(row, _MOST_TEXT)) > len(outline.text(link, _MOST_TEXT)) + 1


MOST_CANDIDATES: Final = 6_000
_CLIMB: Final = 30
_STATES: Final = re.compile(
    r"(?:^|[\s_-])(?:odd|even|first|last|active|featured|sticky|new|open|closed|is-\w+|has-\w+)(?=[\s_-]|$)|\d+"
)
_FLAT: Final = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "dt", "strong", "b", "a", "span", "summary", "em", "font"}
)
_STOPS: Final = frozenset({"body", "main", "article", "section", "ul", "ol", "table", "tbody", "form", "html"})
_BUTTON_NAME: Final = re.compile(r"(?:^|[\s_-])(?:btn|button|cta|read-?more|more-link)(?=[\s_-]|$)")
_PIN: Final = re.compile("[📍🌍🌎🌏🗺]")
_LONGEST_BUTTON: Final = 40
_FLAT_SIBLINGS: Final = 60
_MOST_SHARED: Final = 4
_LEAST_SHARED: Final = 3


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
class LinkGroup:
    """Items whose links stand in alike places."""

    items: list[Item]
    by_button: bool


def groups_of(outline: Outline, url: str) -> list[LinkGroup]:
    """Every group of candidate items on a page, in document order of their first."""
    buttons: dict[str, list[Link]] = {}
    titled: dict[str, list[Link]] = {}
    blocks: dict[int, str] = {}
    everything: list[int] = []
    anchors: set[str] | None = None
    for link in outline.links[: 2 * MOST_CANDIDATES]:
        if outline.chrome[link.element] or not link.url or "{{" in link.text or leads_away(link.url):
            continue
        if same_page(link.url, url):
            # A fragment is an item's own only where something on the page has that name.
            anchors = _anchors(outline) if anchors is None else anchors
            if unquote(link.url.partition("#")[2]) not in anchors:
                continue
        if is_navigation(link.text) or _in_header_cell(outline, link.element):
            continue
        if is_generic(link.text) or _is_button(outline, link):
            block = _block(outline, link.element)
            if blocks.setdefault(block, link.text) != link.text:
                continue  # "Job description | Application form": the first is the job's own
            buttons.setdefault(_signature(outline, link.element), []).append(link)
        else:
            everything.append(link.element)
            titled.setdefault(_signature(outline, link.element), []).append(link)
    for signature in list(titled):
        _move_buttons(outline, titled, buttons, signature)
    groups = [_group(outline, _listed(outline, links), everything, by_button=False) for links in titled.values()]
    groups += [_group(outline, _own(outline, links, url), everything, by_button=True) for links in buttons.values()]
    return [group for group in groups if group.items]


def _move_buttons(
    outline: Outline, titled: dict[str, list[Link]], buttons: dict[str, list[Link]], signature: str
) -> None:
    """Links that say the same, but lead to different places, are buttons in other words."""
    by_text: dict[str, list[Link]] = {}
    for link in titled[signature]:
        by_text.setdefault(link.text, []).append(link)
    same = [links for links in by_text.values() if len(links) > 1 and len(_distinct(outline, links)) > 1]
    for links in same:
        if not is_job_title(links[0].text):  # "Driver" twice is two jobs
            buttons.setdefault(signature, []).extend(links)
            titled[signature] = [link for link in titled[signature] if link.text != links[0].text]
    if not titled[signature]:
        del titled[signature]


def _listed(outline: Outline, links: list[Link]) -> list[Link]:
    """One link per posting and words, and one per row where the rows are the places of one posting."""
    wanted = {link.element for link in (*_distinct(outline, links), *rows_of(outline, links[:MOST_CANDIDATES]))}
    return [link for link in links[:MOST_CANDIDATES] if link.element in wanted]


def _distinct(outline: Outline, links: list[Link]) -> list[Link]:
    """One link per posting and words: a picture and a title often lead to the same place, two titles seldom do."""
    seen: dict[str, dict[str, int]] = {}
    kept: list[Link] = []
    for link in links[:MOST_CANDIDATES]:
        texts = seen.setdefault(posting_key(link.url), {})
        row = _row(outline, link.element)
        is_other = is_job_title(link.text) or (row >= 0 and row not in texts.values())
        if not texts or (is_other and not any(text in link.text or link.text in text for text in texts)):
            kept.append(link)
        texts[link.text] = row
    return kept


def _row(outline: Outline, element: int) -> int:
    """The member of a list or table in which a link stands; -1 where it stands in none."""
    near = (number for number in outline.ancestors(element, 6) if outline.tags[number] in ("li", "tr", "article"))
    return next(near, -1)


def _own(outline: Outline, links: list[Link], url: str) -> list[Link]:
    """One link per posting. Where all buttons lead to one form, the jobs have no address but the page's."""
    distinct = _distinct(outline, links)
    if len(distinct) > 1 or len(links) < 2:
        return distinct
    return [Link(link.element, url, link.text) for link in links[:MOST_CANDIDATES]]


def _is_button(outline: Outline, link: Link) -> bool:
    """Whether a link is made to look like a button, and does not say a job's title."""
    if len(link.text) > _LONGEST_BUTTON or is_job_title(link.text):
        return False
    parent = outline.parents[link.element]
    return any(_BUTTON_NAME.search(outline.names[number]) for number in (link.element, parent) if number >= 0)


def _anchors(outline: Outline) -> set[str]:
    """Names of the places on a page to which a fragment can lead."""
    named = (element for element in outline.elements if element.attrs)
    return {said for element in named if (said := element.attr("id") or element.attr("name"))}


def _in_header_cell(outline: Outline, element: int) -> bool:
    """Whether a link sorts a table; the one header of a row names what the row is about."""
    for number in outline.ancestors(element, 8):
        tag = outline.tags[number]
        if tag == "thead":
            return True
        if tag == "th":
            row = outline.parents[number]
            cells = [cell for cell in range(row + 1, outline.ends[row])[:200] if outline.parents[cell] == row]
            if (outline.elements[number].attr("scope") or "").lower() == "row":
                return False
            return len(cells) > 1 and all(outline.tags[cell] == "th" for cell in cells)
    return False


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


def _group(outline: Outline, links: list[Link], everything: list[int], *, by_button: bool) -> LinkGroup:
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
    shared: frozenset[str] = frozenset()
    is_flat = not by_button and _is_flat(outline, [path[-1] for path in roots])
    for _ in range(_MOST_SHARED):
        items = _items(outline, links, roots, shared, by_button=by_button, is_flat=is_flat)
        common, count = Counter(item.title for item in items).most_common(1)[0] if items else ("", 0)
        if count < _LEAST_SHARED or count * 2 <= len(items):
            break
        shared |= {common}  # "Your tasks" over every job is the title of none
    return LinkGroup(items, by_button)


def _items(
    outline: Outline,
    links: list[Link],
    roots: list[list[int]],
    shared: frozenset[str],
    *,
    by_button: bool,
    is_flat: bool,
) -> list[Item]:
    items: list[Item] = []
    for index, (link, path) in enumerate(zip(links, roots, strict=True)):
        following = roots[index + 1][-1] if index + 1 < len(roots) else None
        back = _back(outline, roots, index) if by_button else None
        item = _item(outline, link, path[-1], following, back, shared, is_flat=is_flat)
        if item is not None:
            items.append(item)
    return items


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


def _is_flat(outline: Outline, roots: list[int]) -> bool:
    """Whether what belongs to an item stands behind it in elements of its own: a pin, a date or a label."""
    telling = apart = 0
    for root, following in pairwise(roots):
        if outline.parents[root] != outline.parents[following]:
            continue
        apart += 1
        between = range(outline.text_ends[root], outline.text_starts[following])[:20]
        said = [line for index in between if (line := collapse(outline.texts[index][:300]))]
        telling += any(_PIN.search(line) or DATE.search(line) or labelled(line) for line in said)
    return telling > 0 and telling * 2 >= apart


def _item(
    outline: Outline,
    link: Link,
    root: int,
    following: int | None,
    back: int | None,
    shared: frozenset[str],
    *,
    is_flat: bool,
) -> Item | None:
    start, end = root, outline.ends[root]
    if outline.tags[root] in _FLAT or is_flat:
        parent = outline.parents[root]
        limit = outline.ends[parent] if parent >= 0 else end
        if following is not None and outline.parents[following] == parent:
            limit = min(limit, following)
        end = _flat_end(outline, end, limit)
    if back is None:
        titled = _title_of_link(outline, link, shared)
    else:
        titled = title_in(outline, start, outline.ends[root], shared) or _first_line(outline, root, link.text)
        if titled is None and back < start:
            titled = title_in(outline, back, root, shared) or job_line(outline, back, root)
            # What stands before a button is about it; what follows, about the next.
            start, end = back, outline.ends[root]
    if titled is None:
        return None
    title, texts = titled
    title = without_label(title)
    if not 3 <= len(title) <= 250 and not (len(title) >= 2 and ord(title[0]) > 0x2E80):
        return None
    return Item(link, root, start, end, title, texts)


def _flat_end(outline: Outline, start: int, limit: int) -> int:
    """Where the texts behind a title stop: at the next heading, or soon."""
    for number in range(start, min(limit, start + _FLAT_SIBLINGS)):
        if outline.tags[number] in HEADINGS or outline.tags[number] == "hr":
            return number
    return min(limit, start + _FLAT_SIBLINGS)


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
    """The first line of a stretch that reads like a job, if no markup marks the title."""
    for index in outline.text_range(start, end)[:80]:
        line = collapse(outline.texts[index][:500])
        if 3 <= len(line) <= 120 and is_job_title(line):
            return line, range(index, index + 1)
    return None


def _title_of_link(outline: Outline, link: Link, shared: frozenset[str]) -> tuple[str, range] | None:
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
    if any(outline.tags[inner] in _BLOCK_TAGS for inner in range(number + 1, outline.ends[number])[:40]):
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
