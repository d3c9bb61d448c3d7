"""docs/bots.md: its API reference and its diagram are made from the OpenAPI document and from the table of moves.

To write them again after a change: `python -m tests.doors.web.bots_page`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from comity.rules.job_transitions import diagram

PAGE: Final = Path(__file__).parents[3] / "docs" / "bots.md"
_PREFIX: Final = "/api/crawl/"


def page_with(text: str, description: dict[str, Any]) -> str:
    """The page, with both generated parts replaced."""
    text = _between(text, "diagram", f"```mermaid\n{diagram()}\n```")
    return _between(text, "reference", reference(description))


def _between(text: str, name: str, part: str) -> str:
    opening, closing = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = text.partition(opening)
    _, _, after = rest.partition(closing)
    assert after, f"docs/bots.md lacks the marks of the {name}"
    return f"{before}{opening}{part}\n{closing}{after}"


def reference(description: dict[str, Any]) -> str:
    """Every bot route as Markdown."""
    schemas = description["components"]["schemas"]
    found = [
        _operation(path, operations["post"], schemas)
        for path, operations in description["paths"].items()
        if path.startswith(_PREFIX)
    ]
    assert len(found) == 4
    return "\n\n".join(found)


def _operation(path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = operation["requestBody"]["content"]["application/json"]
    answer = schemas[_name(operation["responses"]["200"]["content"]["application/json"]["schema"])]
    data = schemas[_name(answer["properties"]["data"])]
    parts = [
        f"### `POST {path}`",
        operation["description"],
        "Request:",
        f"```json\n{json.dumps(content['example'], indent=2, ensure_ascii=False)}\n```",
        _fields(content["schema"], schemas, set(content["schema"]["required"])),
        "`data` of the answer:",
        _fields(data, schemas),
    ]
    nested = sorted(
        {
            name
            for each in data["properties"].values()
            for name in _refs(each)
            if "properties" in schemas[name]  # an enumeration is written where it is used
        }
    )
    for name in nested:
        parts += [f"Each of `{_field_of(data, name)}`:", _fields(schemas[name], schemas)]
    return "\n\n".join(parts)


def _field_of(schema: dict[str, Any], name: str) -> str:
    return next(field for field, value in schema["properties"].items() if name in _refs(value))


def _refs(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [_name(value)] if "$ref" in value else []
        return own + [name for each in value.values() for name in _refs(each)]
    return [name for each in value for name in _refs(each)] if isinstance(value, list) else []


def _name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _fields(schema: dict[str, Any], schemas: dict[str, Any], required: set[str] | None = None) -> str:
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        about = field.get("description", "")
        if field.get("default") is not None:
            about = f"{about} Default {json.dumps(field['default'])}.".strip()
        mark = " (required)" if name in (required or ()) else ""
        lines.append(f"| `{name}` | {_kind(field, schemas)}{mark} | {about} |")
    return "\n".join(lines)


def _kind(field: dict[str, Any], schemas: dict[str, Any]) -> str:
    if "$ref" in field:
        named = schemas.get(_name(field), {})
        return " \\| ".join(f"`{value}`" for value in named["enum"]) if "enum" in named else "object"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_kind(each, schemas) for each in field["anyOf"]))
    if field.get("type") == "array":
        return f"list of {_kind(field['items'], schemas)}"
    bounds = [f"{field[name]:g}" for name in ("minimum", "maximum") if name in field]  # OpenAPI has 100 as 100.0
    shown = {"uuid": "uuid", "date-time": "time"}.get(field.get("format", ""), str(field.get("type", "any")))
    return f"{shown} {' to '.join(bounds)}" if len(bounds) == 2 else shown


def described() -> dict[str, Any]:
    """The OpenAPI document of an application on an empty state."""
    import tempfile

    from comity.assemble import open_state
    from comity.doors.web.access import AccessSettings
    from comity.doors.web.application import build_application
    from comity.settings import read_settings

    with tempfile.TemporaryDirectory() as folder, open_state(read_settings(state=f"{folder}/state.db")) as state:
        return build_application(state, AccessSettings(is_dev=False), schedules=False).openapi()


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), described()), encoding="utf-8")
