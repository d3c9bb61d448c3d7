"""/docs: every route of the API on one page, without anything from another server."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from jsonschema_rs import Draft202012Validator

from comity.doors.web.routes.docs import api_page, example_of
from tests.doors.web.served import Served


@pytest.fixture
def api_url(sqlite_url: str) -> str:
    """One database: nothing on these pages comes from it."""
    return sqlite_url


class Links(HTMLParser):
    """Ids, targets of links, and elements that would load something."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.hrefs += [value for name, value in attrs if name == "href" and value]
        if tag in ("script", "link", "img", "iframe", "object") or "src" in given or "style" in given:
            self.loads.append(tag)


def test_the_page_has_every_route_and_loads_nothing(api: Served) -> None:
    with api.client() as public:
        answer = public.get("/docs")
        description = public.get("/openapi.json").json()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = Links()
    page.feed(answer.text)
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    operations = [each for path in description["paths"].values() for each in path.values()]
    assert {each["operationId"] for each in operations} <= set(page.ids)
    assert {f"schema-{name}" for name in description["components"]["schemas"]} <= set(page.ids)
    assert {href[1:] for href in page.hrefs if href.startswith("#")} <= set(page.ids), "no link leads nowhere"
    assert {href for href in page.hrefs if not href.startswith("#")} == {"/openapi.json"}
    contents = re.findall(r"</b> ([^<]*)</a></li>", answer.text)
    assert len(contents) == len(operations)
    assert all(contents), "every link names its path"
    text = re.sub(r"<[^>]+>", "", answer.text)
    for each in operations:
        for parameter in each.get("parameters", ()):
            assert parameter["name"] in text


def test_the_content_security_policy_allows_only_the_style_of_the_page(api: Served) -> None:
    with api.client() as public:
        answer = public.get("/docs")
        other = public.get("/openapi.json")
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy == f"{other.headers['content-security-policy']}; style-src 'sha256-{digest}'"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_examples_fit_their_schemas(api: Served) -> None:
    with api.client() as public:
        description = public.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    for name, schema in schemas.items():
        whole = {"components": {"schemas": schemas}, "$ref": f"#/components/schemas/{name}"}
        example = example_of(schema, schemas)
        if name not in ("SourceChanges", "PolicyGiven"):  # a change names what it changes
            assert list(Draft202012Validator(whole).iter_errors(example)) == [], name


def test_descriptions_are_escaped() -> None:
    operation = {"operationId": "x", "description": "<script>alert(1)</script>", "responses": {"200": {}}}
    paths = {"/a/<b>": {"get": operation}}
    page = api_page({"info": {"title": "<T>", "version": "1"}, "paths": paths})
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b>" not in page.replace('<b class="get">', "")
