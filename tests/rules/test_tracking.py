"""Tracking and session parameters fall away, everything else stays as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.canonical import resolve_link, url_key
from comity.rules.tracking import (
    DEFAULT_TRACKING,
    SESSION_PARAMETERS,
    TRACKING_PARAMETERS,
    TrackingRules,
    clean_query,
)

BASE = "https://example.com"
ID32 = "9682993c8daa2c5497996114facdc805"
ID26 = "4hqa0555fwsecu455xqckv45ab"

CLEANED = [
    # Nothing to clean.
    ("/", "/"),
    ("/a/b.html", "/a/b.html"),
    ("/a?id=1", "/a?id=1"),
    ("/a?b=2&a=1&b=1", "/a?b=2&a=1&b=1"),
    ("/a?q=utm_source", "/a?q=utm_source"),
    ("/utm_source=x/a", "/utm_source=x/a"),
    ("/a?ref=home&source=list&campaign=7", "/a?ref=home&source=list&campaign=7"),
    ("/a?xutm_source=1", "/a?xutm_source=1"),
    ("/a?q=caf%C3%A9+bar&x=%zz", "/a?q=caf%C3%A9+bar&x=%zz"),
    # Tracking falls away, what is left keeps its order and spelling.
    ("/a?utm_source=x", "/a"),
    ("/a?utm_source=x&utm_medium=y&utm_campaign=z", "/a"),
    ("/a?id=1&utm_source=x", "/a?id=1"),
    ("/a?utm_source=x&id=1", "/a?id=1"),
    ("/a?b=2&utm_source=x&a=1&gclid=7", "/a?b=2&a=1"),
    ("/a?UTM_Source=x&Id=1", "/a?Id=1"),
    ("/a?utm_whatever_comes_next=x", "/a"),
    ("/a?utm%5Fsource=x&id=1", "/a?id=1"),
    ("/a?fbclid=IwAR0x", "/a"),
    ("/a?gclid=abc&msclkid=def&mc_eid=1&mc_cid=2&_hsenc=3&yclid=4", "/a"),
    ("/a?gclid", "/a"),
    ("/a?gclid=", "/a"),
    # Queries that are hardly there.
    ("/a?", "/a"),
    ("/a?&", "/a?&"),
    ("/a?=", "/a?="),
    ("/a?id", "/a?id"),
    ("/a?id=", "/a?id="),
    ("/a?a&&b", "/a?a&&b"),
    ("/a?&utm_source=x&", "/a"),
    ("/a?a=1&&utm_source=x", "/a?a=1&"),
    ("/a?b?c", "/a?b?c"),
    # Sessions, by name or by name and value.
    ("/a?PHPSESSID=anything&id=1", "/a?id=1"),
    ("/a?jsessionid=1.node2", "/a"),
    ("/a?ASPSESSIONIDQWERTYUI=abc&id=1", "/a?id=1"),
    ("/a?CFID=12&CFTOKEN=34&id=1", "/a?id=1"),
    (f"/a?sid={ID32}&id=1", "/a?id=1"),
    (f"/a?s={ID32}", "/a"),
    (f"/a?session={ID26}", "/a"),
    ("/a?sid=17", "/a?sid=17"),
    ("/a?s=red+shoes", "/a?s=red+shoes"),
    ("/a?s=antidisestablishmentarianism", "/a?s=antidisestablishmentarianism"),
    ("/a?sid=123456789012345678901234567890", "/a?sid=123456789012345678901234567890"),
    (f"/a?id={ID32}", f"/a?id={ID32}"),
    # Sessions in the path.
    ("/a;jsessionid=ABC.node1", "/a"),
    ("/a;jsessionid=ABC?id=1", "/a?id=1"),
    ("/a;JSESSIONID=ABC/b", "/a/b"),
    ("/a;v=1;jsessionid=ABC", "/a;v=1"),
    ("/a;v=1", "/a;v=1"),
    (f"/(S({ID26}))/a.aspx", "/a.aspx"),
    (f"/x/(A({ID26})S({ID26}))/a", "/x/a"),
    ("/x/(note)/a", "/x/(note)/a"),
    ("/wiki/Set_(mathematics)", "/wiki/Set_(mathematics)"),
    ("/a?b=/(S(x))/;jsessionid=1", "/a?b=/(S(x))/;jsessionid=1"),
]


@pytest.mark.parametrize(("target", "cleaned"), CLEANED)
def test_a_url_is_cleaned_to_this(target: str, cleaned: str) -> None:
    assert clean_query(BASE + target, DEFAULT_TRACKING) == BASE + cleaned
    assert clean_query(target, DEFAULT_TRACKING) == cleaned


@pytest.mark.parametrize(("target", "cleaned"), CLEANED)
def test_a_link_is_cleaned_when_it_is_resolved(target: str, cleaned: str) -> None:
    """The address is the one that the cleaned link has by itself, key and all."""
    address = resolve_link(BASE + target, BASE, tracking=DEFAULT_TRACKING)
    assert address == resolve_link(BASE + cleaned, BASE)
    assert address is not None
    assert address.key == url_key(address.url)


def test_a_link_is_left_as_it_is_without_rules() -> None:
    address = resolve_link("/a?utm_source=x", BASE + "/")
    assert address is not None
    assert address.path == "/a?utm_source=x"


def test_a_fragment_stays_where_it_is() -> None:
    assert clean_query("/a?utm_source=x#part?utm_source=y", DEFAULT_TRACKING) == "/a#part?utm_source=y"
    assert clean_query("/a?#part", DEFAULT_TRACKING) == "/a#part"


@pytest.mark.parametrize("path", ["/.;sid=3", "/a/..;sid=3/b", "/%2E.;jsessionid=1/b?c;sid=3"])
def test_no_dot_segment_is_left_of_a_session(path: str) -> None:
    assert clean_query(path, DEFAULT_TRACKING) == path


@pytest.mark.parametrize("name", [*TRACKING_PARAMETERS, *SESSION_PARAMETERS])
def test_every_name_of_the_lists_falls_away(name: str) -> None:
    written = name.replace("*", "anything")
    assert clean_query(f"/a?x=1&{written}=2&y=3", DEFAULT_TRACKING) == "/a?x=1&y=3"


def test_the_names_are_the_operators_choice() -> None:
    rules = TrackingRules(parameters=("ref", " Campaign_* "), session_parameters=(), opaque_session_parameters=("key",))
    assert clean_query("/a?REF=1&campaign_x=2&utm_source=3&phpsessid=4", rules) == "/a?utm_source=3&phpsessid=4"
    assert clean_query(f"/a?key={ID32}&sid={ID32}", rules) == f"/a?sid={ID32}"
    target = f"/a;jsessionid=1?utm_source=x&phpsessid=1&sid={ID32}"
    assert clean_query(target, TrackingRules((), (), (), strips_path_sessions=False)) == target


def test_a_star_alone_takes_nothing_away() -> None:
    assert clean_query("/a?b=1", TrackingRules(parameters=("*", "", " "))) == "/a?b=1"


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="&#"), max_size=12)
_HONEST = st.tuples(st.sampled_from(["id", "q", "page", "x", "utm", "s"]), _TEXT).map("=".join)
_TRACKED = st.tuples(st.sampled_from(["utm_source", "gclid", "UTM_X", "fbclid", "PHPSESSID"]), _TEXT).map("=".join)


@given(st.lists(_HONEST | _TRACKED, max_size=8))
def test_what_is_left_is_what_was_honest_in_its_order(parameters: list[str]) -> None:
    honest = [each for each in parameters if each.startswith(("id=", "q=", "page=", "x=", "utm=", "s="))]
    cleaned = clean_query("/a?" + "&".join(parameters), DEFAULT_TRACKING)
    assert cleaned == ("/a?" + "&".join(honest) if honest else "/a")
    assert clean_query(cleaned, DEFAULT_TRACKING) == cleaned


@given(st.text(max_size=80))
def test_cleaning_any_text_only_takes_away(text: str) -> None:
    rest = iter("/" + text)
    assert all(kept in rest for kept in clean_query("/" + text, DEFAULT_TRACKING)), "a part of the text, in its order"
