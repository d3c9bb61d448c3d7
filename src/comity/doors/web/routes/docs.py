"""/openapi.json and /docs: the description of the API for programs, and the same as one HTML page for people.

The page is rendered from the OpenAPI document, without scripts and without anything from another server. Operations are
grouped by audience and noun; each has its parameters, body, responses and an example.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from html import escape
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse

from comity.doors.web.audiences import Audience, Router
from comity.doors.web.middleware import SECURITY_HEADERS

router = Router(Audience.PUBLIC)


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request) -> JSONResponse:
    """Show the OpenAPI document."""
    return JSONResponse(request.app.openapi())


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show the documentation page."""
    policy = f"{SECURITY_HEADERS['Content-Security-Policy']}; style-src {STYLE_HASH}"
    return HTMLResponse(_page(request.app), headers={"Content-Security-Policy": policy})


@lru_cache(maxsize=4)
def _page(app: FastAPI) -> str:
    return api_page(app.openapi())


# Light or dark like the reader's system, and readable on a phone.
STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2126;--soft:#5b6670;--line:#dde2e7;--paper:#fff;--panel:#f6f8fa;--link:#0b62c4;
--get:#1a6fb5;--post:#1b7f4b;--patch:#8a5a00;--delete:#b42318;--needed:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b1;--line:#30373f;--paper:#14181c;--panel:#1c2228;
--link:#6cb0ff;--get:#6cb0ff;--post:#57c88d;--patch:#e0b050;--delete:#ff8a7e;--needed:#ff8a7e}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{padding:1.5rem 1.5rem .5rem;border-bottom:1px solid var(--line)}
h1{margin:0;font-size:1.6rem}h1 small{color:var(--soft);font-weight:400;font-size:1rem}
h2{margin:2rem 0 .25rem;font-size:1.35rem}h3{margin:1.5rem 0 .5rem;font-size:1.1rem}
h4{margin:0;font-size:1rem;font-weight:600}
h5{margin:1rem 0 .25rem;font-size:.8rem;letter-spacing:.04em;text-transform:uppercase;color:var(--soft)}
a{color:var(--link)}p{margin:.35rem 0}
code,pre{font:.9em/1.45 ui-monospace,Menlo,Consolas,monospace}
pre{margin:.25rem 0;padding:.75rem;background:var(--panel);border:1px solid var(--line);border-radius:6px;
white-space:pre-wrap}
.page{display:grid;grid-template-columns:19rem minmax(0,1fr);gap:2rem;max-width:80rem;margin:0 auto;padding:0 1.5rem}
main{padding-bottom:4rem;min-width:0}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:1rem 0;font-size:.88rem}
nav h2{margin:1rem 0 .25rem;font-size:1rem}nav h3{margin:.6rem 0 .1rem;font-size:.88rem}
nav ul{margin:0;padding:0;list-style:none}nav a{text-decoration:none}nav li a{display:block;padding:.1rem 0}
article{margin:.75rem 0;padding:1rem;border:1px solid var(--line);border-radius:8px;scroll-margin-top:1rem}
article:target{border-color:var(--link)}
b.get,b.post,b.patch,b.put,b.delete{font:600 .75rem ui-monospace,Menlo,Consolas,monospace}
b.get{color:var(--get)}b.post{color:var(--post)}b.patch,b.put{color:var(--patch)}b.delete{color:var(--delete)}
article b.get,article b.post,article b.patch,article b.put,article b.delete{padding:.1rem .4rem;
border:1px solid currentColor;border-radius:4px;margin-right:.35rem}
dl.fields{display:grid;grid-template-columns:minmax(9rem,max-content) minmax(0,1fr);gap:.25rem 1rem;margin:.25rem 0}
dl.fields dt,dl.fields dd{margin:0}.kind{color:var(--soft)}
.needed{color:var(--needed);font-size:.8rem;font-style:normal}
details summary{cursor:pointer;color:var(--link);margin:.35rem 0}
@media(max-width:52rem){.page{display:block;padding:0 1rem}header{padding:1rem}
nav{position:static;max-height:40vh;padding:.25rem 0;border-bottom:1px solid var(--line)}
dl.fields{display:block}dl.fields dd{margin:0 0 .6rem}article{padding:.75rem}}
"""
STYLE_HASH: Final = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""The source expression by which the Content-Security-Policy allows this style and no other."""


_METHODS: Final = ("get", "post", "patch", "put", "delete")
_MAX_DEPTH: Final = 7
_TITLES: Final = {"hosts": "Hosts", "decisions": "Decisions", "sources": "Sources", "crawl": "Source runs"}
_AUDIENCES: Final = {
    "public": ("Public", "Needs no login. Never triggers a crawl."),
    "admin": ("Admin", "Needs a token or a session. Changes with a session also need its X-CSRF-Token."),
    "bot": ("Bots", "Needs an API key in X-API-Key."),
}
_COMMON_ERRORS: Final = frozenset({"400", "401", "403", "422", "500", "503"})

Document = Mapping[str, Any]


def api_page(description: Document) -> str:
    """Render the page."""
    info, schemas = description["info"], description.get("components", {}).get("schemas", {})
    groups = _groups(description["paths"])
    title = f"{info['title']} API"
    return "".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<header><h1>{escape(title)} <small>{escape(info['version'])}</small></h1>",
            f"<p>{escape(info.get('description', ''))}</p>",
            '<p><a href="/openapi.json">openapi.json</a> describes the same for programs.</p></header>',
            f'<div class="page">{_contents(groups)}<main>',
            *(_audience(name, tags, schemas) for name, tags in groups.items()),
            _errors(description),
            _schemas(schemas),
            "</main></div></body></html>",
        )
    )


Operation = tuple[str, str, Document]
Groups = dict[str, dict[str, list[Operation]]]


def _groups(paths: Document) -> Groups:
    """Operations by audience and noun."""
    groups: Groups = {name: {} for name in _AUDIENCES}
    for path, operations in paths.items():
        for method in (method for method in _METHODS if method in operations):
            operation = operations[method]
            tag = str((operation.get("tags") or ["others"])[0])
            audience = str(operation.get("x-audience", "admin"))
            groups[audience].setdefault(tag, []).append((method, path, operation))
    return {name: tags for name, tags in groups.items() if tags}


def _contents(groups: Groups) -> str:
    parts = ['<nav aria-label="Contents">']
    for audience, tags in groups.items():
        parts.append(f"<h2>{_AUDIENCES[audience][0]}</h2>")
        for tag, operations in tags.items():
            parts.append(f"<h3>{escape(_title(tag))}</h3><ul>")
            parts += [
                f'<li><a href="#{escape(each["operationId"])}"><b class="{method}">{method.upper()}</b> '
                f"{escape(path.removeprefix('/admin') or path)}</a></li>"
                for method, path, each in operations
            ]
            parts.append("</ul>")
    parts.append('<h2><a href="#errors">Errors</a></h2><h2><a href="#schemas">Schemas</a></h2></nav>')
    return "".join(parts)


def _title(tag: str) -> str:
    return _TITLES.get(tag, tag.capitalize())


def _audience(name: str, tags: dict[str, list[Operation]], schemas: Document) -> str:
    title, about = _AUDIENCES[name]
    parts = [f'<section><h2 id="{name}">{title}</h2><p>{about}</p>']
    for tag, operations in tags.items():
        parts.append(f"<h3>{escape(_title(tag))}</h3>")
        parts += [_operation(*each, schemas) for each in operations]
    parts.append("</section>")
    return "".join(parts)


def _operation(method: str, path: str, operation: Document, schemas: Document) -> str:
    breakable = escape(path).replace("/", "/<wbr>")
    parts = [
        f'<article id="{escape(operation["operationId"])}"><h4><b class="{method}">{method.upper()}</b> '
        f"<code>{breakable}</code></h4><p>{escape(operation.get('description', ''))}</p>"
    ]
    parameters = operation.get("parameters", [])
    if parameters:
        parts.append('<h5>Parameters</h5><dl class="fields">')
        parts += [_parameter(each) for each in parameters]
        parts.append("</dl>")
    body = _body_schema(operation)
    if body is not None:
        parts.append(f"<h5>Body</h5><p>JSON: {_kind(body)}</p>{_properties(body, schemas)}")
    parts.append(f"<h5>Responses</h5>{_responses(operation, schemas)}")
    parts.append(f"<h5>Example</h5><pre>{escape(_curl(method, path, operation, body, schemas))}</pre></article>")
    return "".join(parts)


def _parameter(parameter: Document) -> str:
    schema = parameter.get("schema", {})
    needed = ' <em class="needed">required</em>' if parameter.get("required") else ""
    where = "" if parameter["in"] == "query" else f" in {escape(parameter['in'])}"
    about = parameter.get("description") or schema.get("description", "")
    return (
        f"<dt><code>{escape(parameter['name'])}</code>{needed}</dt>"
        f"<dd><span class=kind>{_kind(schema)}{where}{_bounds(schema)}</span> {escape(about)}</dd>"
    )


def _properties(schema: Document, schemas: Document) -> str:
    """The fields of an object, each with its type and meaning."""
    found = _resolved(schema, schemas)
    fields = found.get("properties", {})
    if not fields:
        return ""
    needed = set(found.get("required", ()))
    parts = ['<dl class="fields">']
    for name, each in fields.items():
        mark = ' <em class="needed">required</em>' if name in needed and "title" in found else ""
        about = escape(each.get("description", ""))
        parts.append(
            f"<dt><code>{escape(name)}</code>{mark}</dt>"
            f"<dd><span class=kind>{_kind(each)}{_bounds(each)}</span> {about}</dd>"
        )
    return "".join((*parts, "</dl>"))


def _responses(operation: Document, schemas: Document) -> str:
    parts = ['<dl class="fields">']
    for status, response in operation["responses"].items():
        if status in _COMMON_ERRORS:
            continue
        schema = _json_schema(response)
        is_good = status.startswith("2")
        about = "" if is_good else escape(response.get("description", ""))
        parts.append(
            f"<dt><code>{escape(status)}</code></dt><dd><span class=kind>{_kind(schema) if is_good else ''}</span>"
            f" {about}</dd>"
        )
    parts.append("</dl>")
    good = next((each for status, each in operation["responses"].items() if status.startswith("2")), None)
    if good is not None and (schema := _json_schema(good)):
        example = json.dumps(example_of(schema, schemas), indent=2, ensure_ascii=False)
        parts.append(f"<details><summary>Example response</summary><pre>{escape(example)}</pre></details>")
    return "".join(parts)


def _errors(description: Document) -> str:
    """The error responses of all operations, described once."""
    meanings: dict[str, str] = {}
    for operations in description["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    meanings.setdefault(status, response.get("description", ""))
    rows = "".join(
        f"<dt><code>{status}</code></dt><dd>{escape(meanings[status])}</dd>" for status in sorted(meanings, key=int)
    )
    about = "Every error response is an <a href='#schema-ErrorResponse'>ErrorResponse</a>."
    return f'<section><h2 id="errors">Errors</h2><p>{about}</p><dl class="fields">{rows}</dl></section>'


def _schemas(schemas: Document) -> str:
    parts = ['<section><h2 id="schemas">Schemas</h2>']
    for name, schema in schemas.items():
        about = escape(schema.get("description", ""))
        values = ", ".join(f"<code>{escape(str(value))}</code>" for value in schema.get("enum", ()))
        parts.append(
            f'<article id="schema-{escape(name)}"><h4><code>{escape(name)}</code></h4><p>{about}</p>'
            f"{f'<p>One of {values}.</p>' if values else ''}{_properties(schema, schemas)}</article>"
        )
    parts.append("</section>")
    return "".join(parts)


def _body_schema(operation: Document) -> Document | None:
    return _json_schema(operation["requestBody"]) if "requestBody" in operation else None


def _json_schema(part: Document) -> Document:
    found: Document = part.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _resolved(schema: Document, schemas: Document) -> Document:
    for _ in range(_MAX_DEPTH):
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        elif others := [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]:
            schema = others[0]
        else:
            break
    return schema


def _kind(schema: Document) -> str:
    """The type of a value; a named schema is a link."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(escape(str(value)) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object" and isinstance(inner := schema.get("additionalProperties"), dict) and inner:
        return f"object of {_kind(inner)}"
    return escape(str(schema.get("format", kind)))


def _bounds(schema: Document) -> str:
    """The limits and the default of a value."""
    parts = [schema, *schema.get("anyOf", ())]
    bounds: list[str] = []
    for words, name in (("at least", "minimum"), ("at most", "maximum"), ("at most", "maxItems")):
        bounds += [f"{words} {each[name]:,}" for each in parts if name in each]
    bounds += [f"at most {each['maxLength']:,} characters" for each in parts if "maxLength" in each]
    if schema.get("default") not in (None, [], ""):
        bounds.append(f"default {json.dumps(schema['default'])}")
    return escape(f"; {', '.join(bounds)}") if bounds else ""


def example_of(schema: Document, schemas: Document, depth: int = 0) -> Any:
    """A value that fits a schema, made from its examples."""
    if schema.get("examples"):
        return schema["examples"][0]
    if "anyOf" in schema and any(each.get("type") == "null" for each in schema["anyOf"]) and depth > 1:
        return None
    schema = _resolved(schema, schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "enum" in schema or "const" in schema:
        return schema.get("enum", [schema.get("const")])[0]
    if depth >= _MAX_DEPTH:
        return None
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: example_of(each, schemas, depth + 1) for name, each in fields.items()}
        case "array":
            return [example_of(schema.get("items", {}), schemas, depth + 1)]
        case "integer" | "number":
            return schema.get("default", schema.get("minimum", 0))
        case "boolean":
            return schema.get("default", False)
        case "string":
            return _TEXTS.get(schema.get("format", ""), "text")
    return None


_CREDENTIALS: Final = {"token": '-H "Authorization: Bearer $TOKEN"', "key": '-H "X-API-Key: $KEY"'}
_TEXTS: Final = {
    "uuid": "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f",
    "date-time": "2026-02-05T14:30:00.000Z",
    "date": "2026-02-05",
    "password": "…",
}


def _curl(method: str, path: str, operation: Document, body: Document | None, schemas: Document) -> str:
    """An example request as a curl command."""
    parameters = operation.get("parameters", [])
    for each in parameters:
        if each["in"] == "path":
            value = each.get("example", example_of(each.get("schema", {}), schemas))
            path = path.replace(f"{{{each['name']}}}", str(value))
    query = "&".join(_needed(parameters, schemas))
    parts = ["curl", *(["-X", method.upper()] if method != "get" else [])]
    schemes = {name for each in operation.get("security", ()) for name in each}
    parts += [header for scheme, header in _CREDENTIALS.items() if scheme in schemes]
    address = f"http://127.0.0.1:8000{path}{'?' + query if query else ''}"
    line = f"{' '.join(parts)} '{address}'"
    if body is not None:
        needed = set(_resolved(body, schemas).get("required", ()))
        example = example_of(body, schemas)
        if isinstance(example, dict) and needed:
            example = {name: value for name, value in example.items() if name in needed} or example
        line += f" \\\n  -H 'Content-Type: application/json' \\\n  -d '{json.dumps(example, ensure_ascii=False)}'"
    return line


def _needed(parameters: list[Document], schemas: Document) -> Iterator[str]:
    for each in parameters:
        if each["in"] == "query" and each.get("required"):
            yield f"{each['name']}={example_of(each.get('schema', {}), schemas)}"
