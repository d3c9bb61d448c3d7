"""Jobs in tables: a table whose header names a position and, for example, a deadline."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from comity.extract.jobs.addresses import leads_away, same_page
from comity.extract.jobs.page.outline import Link, Outline
from comity.extract.jobs.page.repeated_items import PageWords
from comity.extract.jobs.text import collapse, is_known_place, job
from comity.extract.jobs.words.labels import TAKEN_VERBATIM, meaning_of
from comity.extract.jobs.words.pages import CLOSED_HEADING, CLOSED_MARK, NO_OPENINGS, NOT_JOBS_HEADING
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation
from comity.model.job import ExtractionMethod, JobFound

MOST_TABLES: Final = 2_000
_MOST_ROWS: Final = 5_000
_MOST_CELLS: Final = 60
_HEADER_ROWS: Final = 3
_SAMPLE: Final = 20
_LONGEST_MARK: Final = 60
# Columns of lists of people, who also have positions.
_PEOPLE: Final = re.compile(
    r"(?:(?:full |first |last |sur|staff )?name|e-?mail(?: address)?|(?:tele)?phone|tel\.?|contact|nom|prénom|"
    r"nom et prénom|courriel|téléphone|"
    r"nombre|apellidos?|correo(?: electrónico)?|teléfono|nachname|vorname|telefon|nome|cognome|telefono|naam|"
    r"telefoon|الاسم|البريد الإلكتروني|الهاتف|имя|фио|телефон|姓名|电话|电子邮件|氏名|電話|メール)",
    re.IGNORECASE,
)
Cells = list[int]


def table_jobs(outline: Outline, page: PageWords) -> list[JobFound]:
    """Jobs of every table that is one of jobs."""
    links: dict[int, list[Link]] = {}
    rows = _rows_by_table(outline)
    if not rows:
        return []
    for link in outline.links:
        cell = link.element
        if outline.tags[cell] == "tr":  # a row that a click opens
            links.setdefault(cell, []).append(link)
            continue
        while cell >= 0 and outline.tags[cell] not in ("td", "th"):
            cell = outline.parents[cell]
        if cell >= 0:
            links.setdefault(cell, []).append(link)
    jobs: list[JobFound] = []
    for table, cells in list(rows.items())[:MOST_TABLES]:
        if not outline.chrome[table]:
            jobs += _read(outline, _spread(outline, cells), links, page)
    return jobs


def _rows_by_table(outline: Outline) -> dict[int, list[Cells]]:
    """Rows of each table, as the numbers of their cells; those of a table within belong to that one."""
    tables: dict[int, list[Cells]] = {}
    owner: dict[int, Cells] = {}
    for number, tag in enumerate(outline.tags):
        if tag == "tr":
            table = number
            while table >= 0 and outline.tags[table] != "table":
                table = outline.parents[table]
            owner[number] = []
            tables.setdefault(table, []).append(owner[number])
        elif tag in ("td", "th"):
            row = owner.get(outline.parents[number])
            if row is not None and len(row) < _MOST_CELLS:
                row.append(number)
    tables.pop(-1, None)
    return tables


def _spread(outline: Outline, rows: list[Cells]) -> list[Cells]:
    """Rows with every cell in each column and row that it spans, as a browser lays them out."""
    pending: dict[int, tuple[int, int]] = {}  # column: cell, rows that it still covers
    spread: list[Cells] = []
    for cells in rows:
        row: Cells = []
        waiting = iter(cells)
        following: dict[int, tuple[int, int]] = {}
        cell = next(waiting, None)
        while len(row) < _MOST_CELLS and (cell is not None or len(row) in pending):
            column = len(row)
            if column in pending:
                held, left = pending[column]
                row.append(held)
                if left > 1:
                    following[column] = (held, left - 1)
                continue
            assert cell is not None
            across, down = _span(outline, cell, "colspan"), _span(outline, cell, "rowspan")
            for offset in range(min(across, _MOST_CELLS - column)):
                row.append(cell)
                if down > 1:
                    following[column + offset] = (cell, down - 1)
            cell = next(waiting, None)
        pending = following
        spread.append(row)
    return spread


def _span(outline: Outline, cell: int, attribute: str) -> int:
    said = outline.elements[cell].attr(attribute) or "1"
    return max(1, int(said)) if said.isascii() and said.isdigit() and len(said) < 4 else 1


def _header(outline: Outline, rows: list[Cells]) -> tuple[int, list[str | None]] | None:
    """The row that names the columns, and what they mean."""
    for index, cells in enumerate(rows[:_HEADER_ROWS]):
        meanings = [meaning_of(_text_of(outline, cell)) for cell in cells]
        known = [meaning for meaning in meanings if meaning]
        if "title" in known and (len(set(known)) >= 2 or all(outline.tags[cell] == "th" for cell in cells)):
            return index, meanings
        if len(set(known)) >= 2 and all(outline.tags[cell] == "th" for cell in cells):
            at = _unread_title(outline, meanings, rows[index + 1 : index + 1 + _SAMPLE])
            if at is not None:
                return index, [*meanings[:at], "title", *meanings[at + 1 :]]
    return None


def _unread_title(outline: Outline, meanings: list[str | None], rows: list[Cells]) -> int | None:
    """Of the columns whose headers we cannot read, the one that holds jobs; else the first column, if it is one."""
    unread = [column for column, meaning in enumerate(meanings) if meaning is None]
    for column in unread:
        said = [outline.text(cells[column], 200) for cells in rows if column < len(cells)]
        if said and sum(map(is_job_title, said)) * 2 >= len(said):
            return column
    return 0 if 0 in unread else None


def _text_of(outline: Outline, cell: int) -> str:
    """What a header shows; words for screen readers ("sort descending") are left out."""
    numbers = range(outline.text_starts[cell], min(outline.text_ends[cell], outline.text_starts[cell] + 40))
    return collapse(
        "".join(outline.texts[index] for index in numbers if not outline.chrome[outline.text_owners[index]])
    )[:120]


def _read(outline: Outline, rows: list[Cells], links: dict[int, list[Link]], page: PageWords) -> list[JobFound]:
    header = _header(outline, rows)
    if header is None:
        return []
    index, meanings = header
    if any(_PEOPLE.fullmatch(_text_of(outline, cell)) for cell in rows[index]) and "deadline_raw" not in meanings:
        return []
    if len(rows) - index < 2 or _is_past(outline, rows[index][0] if rows[index] else 0):
        return []
    title_column = meanings.index("title")
    found: list[JobFound] = []
    job_like = 0
    place = ""
    for cells in rows[index + 1 : index + 1 + _MOST_ROWS]:
        if cells and len(set(cells)) == 1 and len(meanings) > 1:
            # A row of one cell is a heading over those that follow.
            said = outline.text(cells[0], 100)
            place = said if is_known_place(said) else ""
            continue
        if len(cells) <= title_column or any(_is_closed(outline, cell) for cell in set(cells)):
            continue
        read = _row(outline, cells, meanings, title_column, links, page.url)
        if read is not None:
            found.append(replace(read, location_raw=read.location_raw or place))
            job_like += is_job_title(read.title)
    evidence = (
        3 * (job_like / len(found) if found else 0)
        + 1.5 * ("deadline_raw" in meanings)
        + 1.0 * page.about_careers
        - 2.0 * page.about_others
        + 0.5 * ("location_raw" in meanings)
        + 0.5 * ("reference" in meanings)
    )
    return found if evidence >= 2.5 else []


def _is_closed(outline: Outline, cell: int) -> bool:
    """Whether a cell says nothing but that the job is gone."""
    text = outline.text(cell, 80)
    return 0 < len(text) <= _LONGEST_MARK and CLOSED_MARK.fullmatch(text.strip(" .,;–-()[]")) is not None


def _is_past(outline: Outline, cell: int) -> bool:
    """Whether the heading over a table says that its jobs are over."""
    for number in range(cell, max(-1, cell - 200), -1):
        if outline.tags[number] in ("h1", "h2", "h3", "h4", "caption"):
            text = outline.text(number, 200)
            return CLOSED_HEADING.search(text) is not None or (
                NOT_JOBS_HEADING.search(text) is not None and not is_job_title(text)
            )
    return False


def _row(
    outline: Outline,
    cells: Cells,
    meanings: list[str | None],
    title_column: int,
    links: dict[int, list[Link]],
    url: str,
) -> JobFound | None:
    title_cell = cells[title_column]
    title = ""
    address = ""
    for link in links.get(title_cell, []):
        if link.url and not same_page(link.url, url) and not leads_away(link.url):
            address = address or link.url
            if not is_generic(link.text) and not title:
                title, address = link.text, link.url
    text = outline.text(title_cell, 300)
    title = title or text
    if not title or is_navigation(title) or NO_OPENINGS.search(text):
        return None
    if not address:
        address = next(
            (
                link.url
                for place in (*cells, outline.parents[title_cell])
                for link in links.get(place, [])
                if link.url and not same_page(link.url, url) and not leads_away(link.url)
            ),
            "",
        )
    fields: dict[str, str] = {}
    for cell, meaning in zip(cells, meanings, strict=False):
        if meaning in TAKEN_VERBATIM and meaning not in fields and (said := outline.text(cell, 300)):
            fields[meaning] = said
        elif meaning == "location_raw" and (said := outline.text(cell, 100)):
            # City and country in columns of their own.
            fields[meaning] = f"{fields[meaning]}, {said}"
    if not fields and not address:
        return None
    return job(title=title, apply_url=address or url, found_by=ExtractionMethod.TABLE, **fields)
