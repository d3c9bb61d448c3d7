"""Values inside a JSON response: takes a path or template and a value, returns text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.model.parser_hint import Each, JsonPath, Template

MOST_VALUES: Final = 5_000
_MOST_JOINED: Final = 20
# What an object is called, where a text was expected.
_NAMES: Final = ("name", "label", "title", "text", "value", "displayName", "long_name", "fullLocation", "@value", "@id")


def find(value: object, path: JsonPath, context: Mapping[str, str] | None = None) -> list[object]:
    """Everything at a path, at most `MOST_VALUES`; a first step that begins with @ asks the context."""
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
                    member[step] for member in node[:MOST_VALUES] if isinstance(member, dict) and step in member
                ]
            if len(following) > MOST_VALUES:
                break
        current = following[:MOST_VALUES]
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


def fill(template: Template, value: object, context: Mapping[str, str] | None = None) -> str:
    """What a template says of a value; nothing if one of its paths finds nothing."""
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
    """What the first template that says something says."""
    for template in templates:
        if text := fill(template, value, context):
            return text
    return ""
