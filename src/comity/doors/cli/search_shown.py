"""Postings that were found, as a person or a program reads them."""

from __future__ import annotations

from typing import Any, Final

from comity.doors.cli.output import Cell, counted, write_line
from comity.model.search import Marked, SearchHit, SearchPage, SearchQuery

_MATCH: Final = "bold yellow"
_MOST_VALUES: Final = 6
_FACET_TITLES: Final = {
    "country_iso": "country",
    "level_norm": "level",
    "work_modality": "modality",
    "career_type": "type",
    "mission_tags": "about",
    "international_eligible": "international",
    "language": "language",
    "org_name": "organisation",
}


def page_json(page: SearchPage) -> dict[str, Any]:
    """A page of hits for a program; matches stand as pieces, to be escaped by whoever shows them."""
    from comity.doors.schemas.sources import SearchResults

    return SearchResults.model_validate(page).document()


def write_page(page: SearchPage, query: SearchQuery) -> None:
    """A page of hits for a person."""
    if not page.hits:
        hint = (
            "  Fewer words or filters find more; --all finds closed ones too." if query.text or page.total == 0 else ""
        )
        write_line("Nothing was found.", Cell(hint, "dim"))
        return
    for number, hit in enumerate(page.hits, query.offset + 1):
        _write_hit(number, hit)
    first, last = query.offset + 1, query.offset + len(page.hits)
    write_line(Cell(f"{first:,} to {last:,} of {counted(page.total, 'posting')}", "bold"))
    for name, counts in page.facets.items():
        if counts:
            shown = ", ".join(f"{each.value} {each.count:,}" for each in counts[:_MOST_VALUES])
            more = " …" if len(counts) > _MOST_VALUES else ""
            write_line(Cell(f"  {_FACET_TITLES[name]:<14}", "dim"), f"{shown}{more}")


def _write_hit(number: int, hit: SearchHit) -> None:
    posting = hit.posting
    write_line(Cell(f"{number:>3}. ", "dim"), *_cells(hit.title, "bold"), *_after(" · ", hit.org_name))
    facts = [posting.country_iso, posting.level_norm, posting.work_modality, posting.career_type]
    until = f"until {posting.deadline:%Y-%m-%d}" if posting.deadline is not None else None
    state = "closed" if posting.closed_at is not None else until
    rest = " · ".join(fact for fact in (*facts, state) if fact)
    place = _cells(hit.location)
    if place or rest:
        write_line("     ", *place, Cell(f"{' · ' if place and rest else ''}{rest}", "dim"))
    if hit.snippet:
        write_line("     ", *_cells(hit.snippet))
    write_line("     ", Cell(posting.apply_url, "dim"))


def _cells(marked: Marked, style: str = "") -> list[Cell]:
    return [Cell(piece.text, _MATCH if piece.is_match else style) for piece in marked]


def _after(text: str, marked: Marked) -> list[Cell]:
    return [Cell(text, "dim"), *_cells(marked)] if marked else []
