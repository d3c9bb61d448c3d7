"""Reading a parser hint: takes the operator's text, returns a `ParserHint` or a sentence on what is wrong with it.

docs/parser-hints.md describes the language. Nothing is guessed: an unknown key is an error, because a misspelt key
would silently lose a field.
"""

from __future__ import annotations

import json
import re
from typing import Final

from comity.model.expression import Expression, ExpressionProblem
from comity.model.parser_hint import (
    ApplicantSystem,
    Each,
    HintField,
    HintProblem,
    JsonPath,
    MappingHint,
    ParserHint,
    Selector,
    SelectorHint,
    Step,
    SystemHint,
    Template,
)
from comity.rules.expressions.parse import describe, looks_like_expression, parse_expression, uses_xpath

LONGEST_HINT: Final = 16_384
LONGEST_RULE: Final = 500
MOST_ALTERNATIVES: Final = 8
_NAMES: Final = {str(field): field for field in HintField} | {"link": HintField.URL}
_STEP: Final = re.compile(r"(?:\.|^)([^.\[\]\"'{}]+)|\[(\d{1,6}|\*)\]|\[\"([^\"]*)\"\]|\['([^']*)'\]")
_ATTRIBUTE: Final = re.compile(r"^(?P<css>.*)@(?P<attribute>[A-Za-z][\w:.-]*)\s*$", re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def parse_hint(text: str) -> ParserHint | HintProblem:
    """Read a hint as typed: a JSON object, or the name of an applicant system."""
    text = text.strip()
    if not text:
        return HintProblem("The hint is empty: write a JSON object or the name of an applicant system.")
    if len(text) > LONGEST_HINT:
        return HintProblem(f"The hint is longer than {LONGEST_HINT} characters.")
    if text[0] not in '{["':
        return _system(text, "")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return HintProblem(f"The hint is not JSON: {error.msg}, line {error.lineno} column {error.colno}.")
    except (ValueError, RecursionError):
        return HintProblem("The hint is not valid JSON.")
    if isinstance(value, str):
        return _system(value, "")
    if not isinstance(value, dict):
        return HintProblem("The hint must be a JSON object, or the name of an applicant system.")
    return _object(value)


def _system(name: str, key: str) -> SystemHint | HintProblem:
    try:
        return SystemHint(ApplicantSystem(name.strip().lower()))
    except ValueError:
        known = ", ".join(ApplicantSystem)
        return HintProblem(f"“{name[:60]}” is not a known applicant system; known ones are {known}.", key)


def _object(hint: dict[str, object]) -> ParserHint | HintProblem:
    kinds = [key for key in ("item", "items", "system") if key in hint]
    if len(kinds) != 1:
        return HintProblem(
            "The hint needs exactly one of “item” (a CSS selector), “items” (a path into JSON) and “system” (a name)."
        )
    [kind] = kinds
    allowed = {kind} if kind == "system" else {kind, "next", *_NAMES}
    for key in hint:
        if key not in allowed:
            return HintProblem(f"“{key[:60]}” is not a known key; known keys are {', '.join(sorted(allowed))}.", key)
    if "link" in hint and "url" in hint:
        return HintProblem("“link” and “url” mean the same: use only one of them.", "link")
    if kind != "system" and "title" not in hint:
        return HintProblem("“title” is missing: every job needs a title.", "title")
    first = hint[kind]
    if not isinstance(first, str):
        return HintProblem(f"“{kind}” must be text.", kind)
    if kind == "system":
        return _system(first, kind)
    return _selectors(hint, first) if kind == "item" else _mapping(hint, first)


def _selectors(hint: dict[str, object], item: str) -> SelectorHint | HintProblem:
    problem = _css_problem(item, "item")
    if problem:
        return problem
    fields: list[tuple[HintField, tuple[Selector | Expression, ...]]] = []
    following: tuple[Selector | Expression, ...] = ()
    for key, value in hint.items():
        if key == "item":
            continue
        rules = _alternatives(key, value)
        if isinstance(rules, HintProblem):
            return rules
        selectors: list[Selector | Expression] = []
        for rule in rules:
            read = _expression(rule, key) if looks_like_expression(rule) else _selector(rule, key)
            if isinstance(read, HintProblem):
                return read
            selectors.append(read)
        if key == "next":
            following = tuple(selectors)
        else:
            fields.append((_NAMES[key], tuple(selectors)))
    return SelectorHint(item, tuple(fields), following)


def _mapping(hint: dict[str, object], items: str) -> MappingHint | HintProblem:
    where = json_path(items)
    if isinstance(where, HintProblem):
        return HintProblem(where.message, "items")
    fields: list[tuple[HintField, tuple[Template, ...]]] = []
    following: tuple[Template, ...] = ()
    for key, value in hint.items():
        if key == "items":
            continue
        rules = _alternatives(key, value)
        if isinstance(rules, HintProblem):
            return rules
        templates: list[Template] = []
        for rule in rules:
            read = template(rule)
            if isinstance(read, HintProblem):
                return HintProblem(read.message, key)
            templates.append(read)
        if key == "next":
            following = tuple(templates)
        else:
            fields.append((_NAMES[key], tuple(templates)))
    if HintField.URL not in dict(fields):
        return HintProblem("“url” is missing: give the path of a job's own address, or build it from parts.", "url")
    return MappingHint(where, tuple(fields), following)


def _alternatives(key: str, value: object) -> list[str] | HintProblem:
    rules = value if isinstance(value, list) else [value]
    if not rules or len(rules) > MOST_ALTERNATIVES:
        return HintProblem(f"“{key}” must be text, or a list of one to {MOST_ALTERNATIVES} texts.", key)
    for rule in rules:
        if not isinstance(rule, str) or not rule.strip():
            return HintProblem(f"“{key}” must be text, or a list of texts, and none of them empty.", key)
        if len(rule) > LONGEST_RULE:
            return HintProblem(f"“{key}” is longer than {LONGEST_RULE} characters.", key)
    return [str(rule).strip() for rule in rules]


def _expression(rule: str, key: str) -> Expression | HintProblem:
    """An expression in the place of a selector (docs/extract.md)."""
    read = parse_expression(rule)
    if isinstance(read, ExpressionProblem):
        return HintProblem(f"“{key}” is not an expression; {describe(rule, read)}.", key)
    if uses_xpath(read):
        return HintProblem(f"“{key}” uses xpath, which a hint cannot; use css.", key)
    return read


def _selector(rule: str, key: str) -> Selector | HintProblem:
    """Split `css@attribute`; an @ inside brackets or quotes belongs to the selector."""
    selector = Selector(rule, "href" if key in ("link", "url", "next") else None)
    found = _ATTRIBUTE.match(rule)
    if found and rule.rfind("]") < found.start("attribute"):
        attribute = found["attribute"].lower()
        selector = Selector(found["css"].strip(), None if attribute == "text" else attribute)
    problem = _css_problem(selector.css, key) if selector.css else None
    return problem or selector


def _css_problem(css: str, key: str) -> HintProblem | None:
    """Check a selector with the parser that will use it."""
    from turbohtml import parse  # the rules are read at start-up, pages only later

    if not css.strip() or len(css) > LONGEST_RULE:
        return HintProblem(f"“{key}” must be a CSS selector of at most {LONGEST_RULE} characters.", key)
    try:
        parse("").select(css)
    except ValueError as error:
        return HintProblem(f"“{key}” is not a valid CSS selector: {error}", key)
    return None


def json_path(text: str) -> JsonPath | HintProblem:
    """Read a dotted path: names, `[0]`, `[*]`, and `["odd.name"]`; `$` or nothing is the whole answer."""
    text = text.strip().removeprefix("$").removeprefix(".")
    steps: list[Step] = []
    end = 0
    while end < len(text):
        found = _STEP.match(text[end:])
        if found is None or (steps and text[end] not in ".["):
            return HintProblem(f"“{text[:80]}” is not a path: it cannot be parsed from “{text[end : end + 20]}” on.")
        name, index, quoted, single = found.groups()
        if index is not None:
            steps.append(Each.EACH if index == "*" else int(index))
        else:
            steps.append(next(part for part in (name, quoted, single) if part is not None).strip())
        end += found.end()
    return JsonPath(tuple(steps))


def template(text: str) -> Template | HintProblem:
    """Read a path, or text with `{path}` in it."""
    if "{" not in text and "}" not in text:
        path = json_path(text)
        return path if isinstance(path, HintProblem) else Template((path,))
    parts: list[str | JsonPath] = []
    end = 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(text[end : found.start()])
        path = json_path(found[1])
        if isinstance(path, HintProblem):
            return path
        parts.append(path)
        end = found.end()
    parts.append(text[end:])
    if any(isinstance(part, str) and ("{" in part or "}" in part) for part in parts):
        return HintProblem(f"“{text[:80]}” has an unmatched brace.")
    return Template(tuple(part for part in parts if part != ""))
