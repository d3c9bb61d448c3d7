"""Hints as operators write them: the right ones are read, the wrong ones are answered with the reason."""

from __future__ import annotations

import json

import pytest

from comity.model.expression import Expression
from comity.model.parser_hint import (
    ApplicantSystem,
    Each,
    HintField,
    HintProblem,
    JsonPath,
    MappingHint,
    Selector,
    SelectorHint,
    SystemHint,
    Template,
)
from comity.rules.parser_hint import LONGEST_HINT, json_path, parse_hint, template


@pytest.mark.parametrize("text", ["greenhouse", " Greenhouse ", '"greenhouse"', '{"system": "greenhouse"}'])
def test_the_name_of_a_system_is_a_hint(text: str) -> None:
    assert parse_hint(text) == SystemHint(ApplicantSystem.GREENHOUSE)


def test_selectors_are_split_into_css_and_attribute() -> None:
    hint = parse_hint(
        json.dumps(
            {
                "item": "li.job",
                "title": ["h3", "a@title"],
                "link": "a",
                "location": "@data-place",
                "deadline": 'a[href*="@x"]',
                "description": "p@text",
                "next": "a.next",
            }
        )
    )
    assert hint == SelectorHint(
        "li.job",
        (
            (HintField.TITLE, (Selector("h3"), Selector("a", "title"))),
            (HintField.URL, (Selector("a", "href"),)),
            (HintField.LOCATION, (Selector("", "data-place"),)),
            (HintField.DEADLINE, (Selector('a[href*="@x"]'),)),
            (HintField.DESCRIPTION, (Selector("p"),)),
        ),
        (Selector("a.next", "href"),),
    )


def test_mappings_are_paths_and_templates() -> None:
    hint = parse_hint('{"items": "data.jobs[*]", "title": "name", "url": "https://x.org/{id}", "next": "links.next"}')
    assert hint == MappingHint(
        JsonPath(("data", "jobs", Each.EACH)),
        (
            (HintField.TITLE, (Template((JsonPath(("name",)),)),)),
            (HintField.URL, (Template(("https://x.org/", JsonPath(("id",)))),)),
        ),
        (Template((JsonPath(("links", "next")),)),),
    )


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("$", ()),
        ("$.a.b", ("a", "b")),
        ("[*]", (Each.EACH,)),
        ("a[0].b", ("a", 0, "b")),
        ("a['odd.name'].b", ("a", "odd.name", "b")),
        ('["x y"]', ("x y",)),
        ("body-html", ("body-html",)),
    ],
)
def test_paths_are_read(text: str, steps: tuple[object, ...]) -> None:
    assert json_path(text) == JsonPath(steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a..b", "a[", "a[x]", "a]b", "a[0]b", "a.", 'a["b'])
def test_paths_that_cannot_be_read_say_where(text: str) -> None:
    problem = json_path(text)
    assert isinstance(problem, HintProblem)
    assert "is not a path" in problem.message


@pytest.mark.parametrize("text", ["{a", "a}", "{a}}", "x{{a}"])
def test_a_brace_without_its_partner_is_named(text: str) -> None:
    problem = template(text)
    assert isinstance(problem, HintProblem)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("", "", "empty"),
        ("  ", "", "empty"),
        ("taleo", "", "known ones are ashby"),
        ('{"system": "x"}', "system", "not a known applicant system"),
        ('{"item": "li", "title": "a",}', "", "line 1 column"),
        ("[1]", "", "must be a JSON object"),
        ('{"title": "a"}', "", "exactly one of"),
        ('{"item": "li", "items": "a", "title": "a"}', "", "exactly one of"),
        ('{"item": "li", "titel": "a"}', "titel", "“titel” is not a known key"),
        ('{"item": "li"}', "title", "“title” is missing"),
        ('{"items": "a", "title": "b"}', "url", "“url” is missing"),
        ('{"item": "li[", "title": "a"}', "item", "not a valid CSS selector"),
        ('{"item": "li", "title": "a:nope("}', "title", "not a valid CSS selector"),
        ('{"item": 3, "title": "a"}', "item", "must be text"),
        ('{"item": "li", "title": []}', "title", "one to 8"),
        ('{"item": "li", "title": [""]}', "title", "none of them empty"),
        ('{"item": "li", "title": "a", "link": "a", "url": "a"}', "link", "mean the same"),
        ('{"items": "a..b", "title": "x", "url": "u"}', "items", "not a path"),
        ('{"items": "a", "title": "x", "url": "{u"}', "url", "brace"),
        ("{" + " " * LONGEST_HINT + "}", "", "longer than"),
    ],
)
def test_what_is_wrong_is_said_precisely(text: str, key: str, words: str) -> None:
    problem = parse_hint(text)
    assert isinstance(problem, HintProblem)
    assert problem.key == key
    assert words in problem.message


def test_an_expression_may_stand_where_a_selector_does() -> None:
    said = {
        "item": "li",
        "title": "css 'h3::text' | trim",
        "org": ["jsonld.Organization.name", ".org"],
        "link": "a@href",
    }
    hint = parse_hint(json.dumps(said))
    assert isinstance(hint, SelectorHint)
    fields = dict(hint.fields)
    assert isinstance(fields[HintField.TITLE][0], Expression)
    assert [type(rule) for rule in fields[HintField.ORG]] == [Expression, Selector]
    assert fields[HintField.URL] == (Selector("a", "href"),)
    for rule, message in (
        ("css 'h3::txt'", "“title” is not an expression; column 5: after :: expected text or attr(name)"),
        ("xpath '//h3'", "“title” uses xpath, which a hint cannot; use css."),
        ("jsonld.Organization.name | trin", "“trin” is not a known step; did you mean trim?"),
    ):
        problem = parse_hint(json.dumps({"item": "li", "title": rule}))
        assert isinstance(problem, HintProblem)
        assert message in problem.message
        assert problem.key == "title"
