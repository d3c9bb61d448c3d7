"""Patterns of URLs: what each matches, what cannot be used, and that no pattern costs more than a bounded time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.rules.canonical import web_address
from comity.rules.seed_list import SiteHosts
from comity.rules.url_patterns import (
    BadPattern,
    LeftOut,
    PatternSet,
    _as_seen,
    parse_pattern,
    parse_patterns,
    path_of_seed,
    pattern_rules,
    url_rules,
)
from tests.sizes import sized

HOST = "https://e.com"


def matches(pattern: str, url: str) -> bool:
    seen = _as_seen(web_address(url if "://" in url else HOST + url))
    one = PatternSet([parse_pattern(pattern)])
    assert one.matches(seen) is (one.first(seen) is not None)
    return one.matches(seen)


@pytest.mark.parametrize(
    ("pattern", "matched", "unmatched"),
    [
        ("/docs/", ["/docs/", "/docs/a/b?c"], ["/docs", "/docsearch", "/x/docs/"]),
        ("/docs", ["/docs", "/docs/a", "/docs?a=b"], ["/docsearch", "/x/docs"]),
        ("/docs/*", ["/docs/a", "/docs/a/b"], ["/docs", "/x/docs/a"]),
        ("/a/*/c", ["/a/b/c", "/a/b/c/d"], ["/a/c", "/a/b/b/c", "/a/b/cc"]),
        ("/a/**/c", ["/a/c", "/a/b/c", "/a/b/b/c", "/a/b/c/d"], ["/ac", "/a/bc"]),
        ("/a**c", ["/a/b/c", "/ac"], ["/b/a/c"]),
        ("*.pdf", ["/a.pdf", "/a/b.pdf", "/a.pdf?x=/y"], ["/a.pdfx", "/a?b.pdf"]),
        ("print", ["/print", "/a/print", "/print/a"], ["/printer", "/a?print"]),
        ("**/edit", ["/edit", "/a/b/edit"], ["/credit"]),
        ("?*", ["/a?b", "/?"], ["/a"]),
        ("?*sort=*", ["/a?sort=1", "/a?b=1&sort=2&c"], ["/sort=1", "/a?b"]),
        ("/s?q=*", ["/s?q=", "/s?q=a/b?c"], ["/s", "/s?p=1&q=2", "/s/t?q=1"]),
        ("/s?", ["/s?"], ["/s", "/s?a"]),
        ("/", ["/", "/a/b"], []),
        ("**", ["/", "/a/b", "/a?b"], []),
        ("*", ["/", "/a/b", "/a?b"], []),
        ("e.com/a/", ["/a/b", "http://www.e.com:8080/a/"], ["https://f.com/a/", "https://x.e.com/a/"]),
        ("www.e.com/a/", ["/a/b"], []),
        ("*.e.com/", ["https://a.e.com/x", "https://a.b.e.com/"], ["/x", "https://www.e.com/x", "https://ae.com/"]),
        ("https://e.com", ["/", "/a/b"], ["http://e.com/"]),
        ("*://e.com/a", ["/a", "http://e.com/a/b"], ["/b"]),
        ("*://*/a", ["/a", "http://f.com:81/a/b"], ["/b"]),
        ("e.com:8080/", ["http://e.com:8080/a"], ["/a"]),
        ("e.com:443/", ["/a"], ["https://e.com:444/a"]),
        ("[::1]/x", ["http://[::1]:8000/x"], ["http://[::2]:8000/x"]),
        ("127.0.0.1/x", ["http://127.0.0.1:8000/x"], ["http://127.0.0.2:8000/x"]),
        ("bücher.example/", ["https://xn--bcher-kva.example/a"], []),
        ("/straße/", ["/stra%C3%9Fe/a", "/stra%c3%9fe/a"], []),
        ("/a%7eb/%2f", ["/a~b/%2F"], ["/a~b//"]),
        ("/{id}", ["/{id}", "/%7Bid%7D"], ["/id"]),
        (r"/a\*b", ["/a*b"], ["/axb"]),
        (r"re:\.PDF$", ["/a.PDF"], ["/a.pdf"]),
        (r"re:(?i)\.PDF$", ["/a.pdf"], ["/a.pdfx"]),
        (r"re:^https://www\.", ["https://www.e.com/"], ["/"]),
        ("re:/a/|/b/", ["/x/b/"], ["/c/"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matched: list[str], unmatched: list[str]) -> None:
    assert [url for url in matched if not matches(pattern, url)] == []
    assert [url for url in unmatched if matches(pattern, url)] == []


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "a pattern is empty"),
        ("re:", "no expression after re:"),
        ("re:(", "re:(: missing )"),
        ("re:a(?=b)", "invalid perl operator"),
        (r"re:(a)\1", "invalid escape sequence"),
        ("re:é", "escaped form"),
        ("re:a\nb", "line break"),
        ("re:(a{1000}){1000}", "invalid repetition size"),
        ("example.com", "write example.com/ for a host"),
        ("*.example.com", "write *.example.com/ for a host"),
        ("docs/a", "begin with /"),
        ("ftp://a.com/b", "only http and https"),
        ("https:///b", "empty"),
        ("a.com:x/", "not a port"),
        ("a_b!.*.com/", "cannot be part of a host name"),
        ("/a b", "%20"),
        ("/a#b", "never sent"),
        ("/a/../b", ".."),
        ("/" + "*a" * 60, "more than 50 stars"),
        ("/" + "x" * 10_000, "longer than 10,000 characters"),
    ],
)
def test_what_cannot_be_used_says_why(pattern: str, said: str) -> None:
    with pytest.raises(BadPattern) as raised:
        parse_pattern(pattern)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 400


def judged(url: str, **lists: list[str]) -> LeftOut | None:
    run = pattern_rules(lists.get("include", []), lists.get("exclude", []), lists.get("under", []))
    policy = pattern_rules(lists.get("policy_include", []), lists.get("policy_exclude", []), is_of_policy=True)
    rules = url_rules(run, policy)
    return rules.judge(web_address(url if "://" in url else HOST + url)) if rules is not None else None


def test_exclude_wins_over_include_and_both_must_agree() -> None:
    assert judged("/a") is None
    assert judged("/a/b", include=["/a/"]) is None
    assert judged("/b", include=["/a/"]) == LeftOut("include", "/a/")
    assert judged("/a/b", include=["/a/"], exclude=["/a/b"]) == LeftOut("exclude", "/a/b")
    assert judged("/a/b", include=["/a/"], policy_exclude=["b"]) == LeftOut("exclude", "b", True)
    assert judged("/a/b", include=["/a/"], policy_include=["/c/"]) == LeftOut("include", "/c/", True)
    assert judged("/x", include=[f"/{name}/" for name in "abcde"]) == LeftOut("include", "/a/, /b/, /c/ and 2 more")


def test_under_binds_only_its_own_host() -> None:
    assert judged("/docs/a?b", under=["e.com/docs/"]) is None
    assert judged("/docs", under=["e.com/docs/"]) is None
    assert judged("/docsearch", under=["e.com/docs"]) == LeftOut("under", "e.com/docs")
    assert judged("/x", under=["e.com/docs/"]) == LeftOut("under", "e.com/docs/")
    assert judged("https://f.com/x", under=["e.com/docs/"]) is None
    assert judged("/b/1", under=["e.com/a/", "e.com/b/"]) is None


@pytest.mark.parametrize(
    ("seed", "folder"),
    [
        ("https://www.e.com/", "e.com/"),
        ("https://e.com/docs", "e.com/docs"),
        ("https://e.com/docs/", "e.com/docs/"),
        ("https://e.com/docs/a.html?b", "e.com/docs/"),
        ("https://e.com/index.html", "e.com/"),
        ("http://e.com:81/v1.2/", "e.com:81/v1.2/"),
    ],
)
def test_the_folder_of_a_seed(seed: str, folder: str) -> None:
    assert path_of_seed(web_address(seed)) == folder


def test_seeds_are_bound_by_excludes_of_the_policy_only() -> None:
    address = web_address(f"{HOST}/a")
    rules = url_rules(pattern_rules(["/b/"], ["/a"]), pattern_rules(["/b/"], ["/c"], is_of_policy=True))
    assert rules is not None
    assert rules.judge_seed(address) is None
    assert rules.judge_hop(address) == LeftOut("exclude", "/a")
    assert rules.judge_hop(web_address(f"{HOST}/x")) is None
    assert rules.judge_seed(web_address(f"{HOST}/c")) == LeftOut("exclude", "/c", True)


def reference(pattern: str, path: str) -> bool:
    """The meaning of a glob from the root, by Python's own engine."""
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern)
    written = "".join({"**/": "(?:[^?]*/)?", "**": "[^?]*", "*": "[^/?]*"}.get(part, re.escape(part)) for part in parts)
    return re.match(written + ("" if pattern.endswith("/") else "(?:[/?]|$)"), path) is not None


_SEGMENTS = st.lists(st.sampled_from(["a", "b", "ab", "a.b", "*", "a*", "**", ""]), max_size=4)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(
    _SEGMENTS, st.lists(st.sampled_from(["a", "b", "ab", "a.b", "ba"]), max_size=5), st.sampled_from(["", "/", "?a"])
)
def test_globs_mean_what_the_reference_says(pattern: list[str], path: list[str], ending: str) -> None:
    glob, target = "/" + "/".join(pattern), "/" + "/".join(path) + ending
    target = target.replace("//", "/")
    if "***" not in glob and "//" not in glob:
        assert matches(glob, target) is reference(glob, target)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_pattern_or_says_why_not(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except BadPattern:
        return
    PatternSet([pattern]).matches(_as_seen(web_address(f"{HOST}/a/b?c")))


LONG = web_address(f"{HOST}/" + "a" * 8_000)


@pytest.mark.parametrize(
    "pattern",
    [
        "re:(a+)+$b",
        "re:(a|a)*b$",
        "re:(a|aa)+$b",
        "re:(x+x+)+y",
        "re:(.*a){200}b",
        "re:(?:a?){500}a{500}b",
        "re:[a-c]*a[a-c]{200}z",
        "re:" + "(a*)*" * 500 + "b",
        "/" + "*a" * 50 + "b",
        "/" + "**a" * 25 + "b",
        "/" + "x" * 9_999,
        "re:" + "a?" * 4_900 + "b",
    ],
    ids=lambda pattern: pattern[:20],
)
def test_a_hostile_pattern_costs_bounded_time(pattern: str) -> None:
    """With an engine that backtracks, most of these would not end within the age of the universe."""
    before = time.process_time()
    try:
        rules = url_rules(pattern_rules([], [pattern]), None)
    except BadPattern:
        rules = None
    if rules is not None:
        rules.judge(LONG)
    assert time.process_time() - before < 5.0


def test_thousands_of_patterns_cost_bounded_time() -> None:
    texts = [f"/section{number}/*/item" for number in range(5_000)] + [f"*-{number}.pdf" for number in range(5_000)]
    before = time.process_time()
    rules = url_rules(pattern_rules([], texts), None)
    assert rules is not None
    for _ in range(100):
        assert rules.judge(web_address(f"{HOST}/section4999x/a/item/b-99999.pdfx")) is None
    found = rules.judge(web_address(f"{HOST}/a/b-4321.pdf"))
    assert found == LeftOut("exclude", "*-4321.pdf")
    assert time.process_time() - before < 20.0


def test_lists_have_limits() -> None:
    with pytest.raises(BadPattern, match="at most 10,000"):
        parse_patterns(f"/{number}" for number in range(10_001))
    with pytest.raises(BadPattern, match="together are too large"):
        parse_patterns(f"re:(?:a?){{500}}a{{{number}}}b" for number in range(400, 420))
    with pytest.raises(BadPattern, match=r"together have .* stars"):
        parse_patterns("/" + "*a" * 50 + str(number) for number in range(401))
    with pytest.raises(BadPattern, match=r"together have .* characters"):
        parse_patterns("/" + "x" * 9_000 + str(number) for number in range(120))


@pytest.mark.parametrize(
    ("host", "named", "below"),
    [
        ("e.com", True, True),
        ("a.e.com", False, True),
        ("a.b.e.com:8080", False, True),
        ("ae.com", False, False),
        ("f.com:81", True, True),
        ("f.com", False, False),
        ("x.f.com", False, True),
        ("com", False, False),
        ("[::1]:80", False, False),
    ],
)
def test_hosts_of_a_site(host: str, named: bool, below: bool) -> None:
    names = ("e.com", "f.com:81")
    assert SiteHosts(names).includes(host) is named
    assert SiteHosts(names, subdomains=True).includes(host) is below
