"""Jobs by a mapping: takes a JSON response and the paths of its fields, returns jobs and the next address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.text import job
from comity.model.job import ExtractionMethod, JobFound
from comity.model.parser_hint import Each, HintField, JsonPath, MappingHint, Template

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
_MOST_VALUES: Final = 5_000
_MOST_JOINED: Final = 20
# What an object is called, where a text was expected.
_NAMES: Final = ("name", "label", "title", "text", "value", "displayName", "long_name", "fullLocation", "@value", "@id")


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
    """How many values there are where the items should be, whatever they are."""
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


def find(value: object, path: JsonPath, context: Mapping[str, str] | None = None) -> list[object]:
    """Everything at a path, at most `_MOST_VALUES`; a first step that begins with @ asks the context."""
    steps = path.steps
    if steps and isinstance(steps[0], str) and not isinstance(steps[0], Each) and steps[0].startswith("@"):
        said = (context or {}).get(steps[0][1:])
        return [said] if said else []
    current = [value]
    for step in steps:
        following: list[object] = []
        for node in current:
            if isinstance(step, Each):
                if isinstance(node, list):
                    following += node
                elif isinstance(node, dict):
                    following += node.values()
            elif isinstance(step, int):
                if isinstance(node, list) and step < len(node):
                    following.append(node[step])
            elif isinstance(node, dict):
                if step in node:
                    following.append(node[step])
            elif isinstance(node, list):
                # "locations.name" also means the names of all of them.
                following += [
                    member[step] for member in node[:_MOST_VALUES] if isinstance(member, dict) and step in member
                ]
            if len(following) > _MOST_VALUES:
                break
        current = following[:_MOST_VALUES]
    return current


def text_of_value(value: object) -> str:
    """What a value says as text: a word, a number, the name of an object, or a list of these."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict):
        for name in _NAMES:
            inner = value.get(name)
            if isinstance(inner, str) and inner.strip():
                return inner.strip()
        parts = [value.get(name) for name in ("city", "region", "state", "country")]
        return ", ".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    if isinstance(value, list):
        said = dict.fromkeys(
            text for member in value[:_MOST_JOINED] if not isinstance(member, list) and (text := text_of_value(member))
        )
        return "; ".join(said)
    return ""


def _fill(template: Template, value: object, context: Mapping[str, str] | None = None) -> str:
    """A template filled in from a value; empty if one of its paths finds nothing."""
    said: list[str] = []
    for part in template.parts:
        if isinstance(part, str):
            said.append(part)
            continue
        found = find(value, part, context)
        text = text_of_value(found[0] if len(found) == 1 else found)
        if not text:
            return ""
        said.append(text)
    return "".join(said)


def first_filled(templates: tuple[Template, ...], value: object, context: Mapping[str, str] | None = None) -> str:
    """The first template that is not empty once filled in."""
    for template in templates:
        if text := _fill(template, value, context):
            return text
    return ""
