"""The page about JSON: every noun with where it comes from and what its fields mean. `docs/json.md` is this."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from comity.doors.shapes import decisions, hosts
from comity.doors.shapes.base import Shape
from comity.doors.web import shown


class Noun(NamedTuple):
    """A noun: its shape, the commands that give it, and the routes that do."""

    name: str
    shape: type[Shape]
    commands: tuple[str, ...]
    routes: tuple[str, ...]
    note: str = ""


NOUNS: Final = (
    Noun("host in a list", hosts.HostListed, ("domains list", "domains top"), ("GET /admin/hosts",)),
    Noun("host", hosts.HostShown, ("domains info",), ("GET /admin/hosts/{host}",)),
    Noun(
        "policy", hosts.PolicyShown, ("policy show", "policy set"), ("GET, POST /admin/domain_policies/{host}",),
        "`policy` of a host is the same, or null.",
    ),
    Noun("claims", hosts.ClaimsShown, ("domains claims",), ("GET /admin/claims",)),
    Noun("status", hosts.StateShown, ("status",), ("GET /admin/status",)),
    Noun(
        "run", hosts.RunShown, (), (),
        "`runs` of a status has these. The end of a crawl (`summary` of `comity crawl --json`, a line of "
        "`comity work --json`) has the same names and more.",
    ),
    Noun("seeds that were added", decisions.SeedsAdded, ("seeds add", "seeds load", "enqueue"), ("POST /admin/seeds",)),
    Noun("takedown", decisions.TakedownShown, ("takedown list",), ("GET /admin/takedowns",)),
    Noun("takedown that was added", decisions.TakedownAdded, ("takedown add",), ("POST /admin/takedowns",)),
    Noun("takedown that was removed", decisions.TakedownRemoved, ("takedown remove",), ("DELETE /admin/takedowns",)),
    Noun("why", decisions.WhyShown, ("why",), ("GET /admin/why",)),
    Noun("evidence", decisions.EvidenceShown, (), ("GET /admin/evidence",)),
    Noun("robots verdict", decisions.RobotsVerdictShown, ("robots",), ("GET /admin/robots_verdict",)),
    Noun(
        "source", shown.SourceShown, ("sources list", "sources add", "sources edit"),
        ("GET, POST /admin/sources", "GET, PATCH, DELETE /admin/sources/{id}"),
        "After a change, `notes` beside it say what is asked for in vain.",
    ),
    Noun("source run", shown.LogShown, ("sources logs",), ("GET /admin/crawl/logs",)),
    Noun("source status", shown.StatusShown, ("sources status",), ("GET /admin/crawl/status",)),
    Noun("head of a page", shown.HeadShown, ("sources test-fetch",), ("POST /admin/sources/{id}/test-fetch",)),
    Noun(
        "simulation", shown.SimulationShown, ("sources simulate-extract",),
        ("POST /admin/sources/{id}/simulate-extract",),
    ),
    Noun("posting", shown.PostingShown, ("search",), ("GET /search",), "`posting` of each of `hits` has these."),
    Noun("search", shown.SearchShown, ("search",), ("GET /search",)),
)  # fmt: skip


def nouns_as_markdown() -> str:
    """Every noun as a section with a table of its fields, and after them the parts that they have."""
    parts: dict[str, dict[str, Any]] = {}
    for noun in NOUNS:
        parts |= noun.shape.model_json_schema(mode="serialization", by_alias=True).get("$defs", {})
    own = {noun.shape.__name__ for noun in NOUNS}
    named = [_part(name, schema) for name, schema in sorted(parts.items()) if name not in own]
    return "\n\n".join([*map(_section, NOUNS), "## Parts of these", *named])


def _section(noun: Noun) -> str:
    schema = noun.shape.model_json_schema(mode="serialization", by_alias=True)
    parts = [f"## {noun.name[0].upper()}{noun.name[1:]}", str(schema.get("description", ""))]
    where = [f"`comity {each} --json`" for each in noun.commands] + [f"`{each}`" for each in noun.routes]
    if where:
        parts.append(f"From {', '.join(where)}.")
    if noun.note:
        parts.append(noun.note)
    return "\n\n".join([*parts, _fields(schema)])


def _part(name: str, schema: dict[str, Any]) -> str:
    said = " ".join(str(schema.get("description", "")).split())
    if "enum" in schema:
        return f"**{name}**: {said} One of {', '.join(f'`{value}`' for value in schema['enum'])}."
    return f"**{name}**: {said}\n\n{_fields(schema)}"


def _fields(schema: dict[str, Any]) -> str:
    lines = ["| field | kind | meaning |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        lines.append(f"| `{name}` | {_kind(field)} | {field.get('description', '')} |")
    return "\n".join(lines)


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(inner := field.get("additionalProperties"), dict) and inner:
        return f"object of {_kind(inner)}"
    if field.get("format") == "date-time":
        return "time"
    return str(field.get("format", field.get("type", "any")))
