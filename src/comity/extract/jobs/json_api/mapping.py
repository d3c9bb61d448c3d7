"""Jobs by a mapping: takes a JSON response and the paths of its fields, returns jobs and the next address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.json_api.values import find, first_filled
from comity.extract.jobs.text import job
from comity.model.job import ExtractionMethod, JobFound
from comity.model.parser_hint import HintField, MappingHint

MOST_JOBS: Final = 5_000
_SAMPLE: Final = 20
FIELD_NAMES: Final = {
    HintField.ORG: "org_name",
    HintField.LOCATION: "location_raw",
    HintField.DESCRIPTION: "description_snippet",
    HintField.DEADLINE: "deadline_raw",
    HintField.POSTED: "posted_raw",
    HintField.EMPLOYMENT: "employment_raw",
    HintField.WORKPLACE: "workplace_raw",
    HintField.LEVEL: "level_raw",
    HintField.COUNTRY: "country_raw",
    HintField.REFERENCE: "reference",
    HintField.LANGUAGE: "language",
}


def mapped_jobs(
    value: object, hint: MappingHint, *, url: str, found_by: ExtractionMethod, context: Mapping[str, str] | None = None
) -> list[JobFound]:
    """Read every item that the mapping finds; those without title or address are passed over."""
    jobs: list[JobFound] = []
    for item in items_of(value, hint):
        said = {field: first_filled(templates, item, context) for field, templates in hint.fields}
        address = resolve(said.pop(HintField.URL, ""), url)
        found = job(
            title=said.pop(HintField.TITLE, ""),
            apply_url=address,
            found_by=found_by,
            **{FIELD_NAMES[field]: text for field, text in said.items()},
        )
        if found is not None:
            jobs.append(found)
            if len(jobs) >= MOST_JOBS:
                break
    return jobs


def items_of(value: object, hint: MappingHint) -> list[object]:
    """The items themselves: a path that ends at a list means its members."""
    items: list[object] = []
    for found in find(value, hint.items):
        items += found if isinstance(found, list) else [found]
    return [item for item in items[: 2 * MOST_JOBS] if isinstance(item, dict)]


def members_at(value: object, hint: MappingHint) -> int:
    """How many things stand where the items should be, whatever they are."""
    found = (member for each in find(value, hint.items) for member in (each if isinstance(each, list) else [each]))
    return sum(member not in (None, "", {}, []) for member in found)


def missing_in(items: list[object], hint: MappingHint, context: Mapping[str, str] | None = None) -> str:
    """Which of the fields that every job needs the items do not have."""
    wanted = dict(hint.fields)
    titles = [first_filled(wanted.get(HintField.TITLE, ()), item, context) for item in items[:_SAMPLE]]
    return "title" if not any(titles) else "address"


def has_items(value: object, hint: MappingHint) -> bool:
    """Whether the place where items stand is there, even if it holds none."""
    return bool(find(value, hint.items))
