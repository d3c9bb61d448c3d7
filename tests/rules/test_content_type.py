"""Media types are read as browsers read them and matched by patterns; reject has the last word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.fetch import ContentTypeRules
from comity.rules.content_type import judge, media_type, pattern_matches


@pytest.mark.parametrize(
    ("field", "bare"),
    [
        ("text/html", "text/html"),
        ("text/html; charset=utf-8", "text/html"),
        ("TEXT/HTML ;charset=UTF-8", "text/html"),
        ("  text/html  ", "text/html"),
        ("application/xhtml+xml", "application/xhtml+xml"),
        ("text/plain, text/html", "text/html"),
        ("", ""),
        (None, ""),
        ("html", ""),
        (";charset=utf-8", ""),
        ("text/html;;;", "text/html"),
    ],
)
def test_the_bare_type_is_found(field: str | None, bare: str) -> None:
    assert media_type(field) == bare


@pytest.mark.parametrize(
    ("pattern", "kind", "matches"),
    [
        ("text/html", "text/html", True),
        ("Text/HTML", "text/html", True),
        ("text/html", "text/htmlx", False),
        ("text/*", "text/html", True),
        ("text/*", "texts/html", False),
        ("*/*", "image/png", True),
        ("*", "image/png", True),
        ("text", "text/plain", True),
        ("*/xml", "application/xml", True),
        ("*/xml", "application/rss+xml", False),
        ("application/*+xml", "application/rss+xml", True),
        ("application/*+xml", "application/xml", False),
        ("image/*", "text/html", False),
        (" text/* ", "text/html", True),
        ("", "text/html", False),
    ],
)
def test_patterns(pattern: str, kind: str, matches: bool) -> None:
    assert pattern_matches(pattern, kind) is matches


@pytest.mark.parametrize(
    ("accept", "reject", "field", "accepted", "reason"),
    [
        ((), (), "image/png", True, "no accept list"),
        (("text/*",), (), "text/html; charset=x", True, "text/html is accepted by text/*"),
        (("text/*",), (), "image/png", False, "image/png is not accepted"),
        ((), ("image/*",), "image/png", False, "image/png is rejected by image/*"),
        (("*/*",), ("image/*",), "image/png", False, "image/png is rejected by image/*"),
        (("text/*",), ("text/css",), "text/css", False, "text/css is rejected by text/css"),
        (("text/*",), ("text/css",), "text/html", True, "text/html is accepted by text/*"),
        (("text/html", "application/xhtml+xml"), (), "application/xhtml+xml", True, "by application/xhtml+xml"),
    ],
)
def test_accept_then_reject(
    accept: tuple[str, ...], reject: tuple[str, ...], field: str, accepted: bool, reason: str
) -> None:
    verdict = judge(field, ContentTypeRules(accept, reject))
    assert verdict.accepted is accepted
    assert verdict.reason.endswith(reason)


@pytest.mark.parametrize("field", [None, "", "nonsense", ";"])
def test_a_missing_type_is_taken_unless_asked_otherwise(field: str | None) -> None:
    assert judge(field, ContentTypeRules(accept=("text/*",))).accepted
    assert not judge(field, ContentTypeRules(accept=("text/*",), accept_missing=False)).accepted


words = st.text(alphabet="abcxyz0123456789+-.", min_size=1, max_size=12)


@given(words, words)
def test_a_type_matches_itself_its_major_wildcard_and_everything(major: str, minor: str) -> None:
    kind = f"{major}/{minor}"
    for pattern in (kind, f"{major}/*", f"*/{minor}", "*/*", "*"):
        assert pattern_matches(pattern, kind)
        assert judge(kind, ContentTypeRules(accept=(pattern,))).accepted
        assert not judge(kind, ContentTypeRules(accept=(kind,), reject=(pattern,))).accepted


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=3), st.lists(st.text(max_size=12), max_size=3))
def test_no_field_and_no_pattern_breaks_the_judgement(field: str, accept: list[str], reject: list[str]) -> None:
    verdict = judge(field, ContentTypeRules(tuple(accept), tuple(reject)))
    assert verdict.reason
