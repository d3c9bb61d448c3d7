"""Public suffixes are read as the package reads them that carries the list."""

from __future__ import annotations

import pytest
from publicsuffixlist import PublicSuffixList

from comity.rules.public_suffixes import PublicSuffixes, public_suffixes
from tests.sizes import sized

THEIRS = PublicSuffixList()
ODD = (
    "",
    ".",
    "com",
    "com.",
    "a..b",
    ".a.com",
    "a.com.",
    "localhost",
    "index.html",
    "x.y.zz",
    "a.b.kobe.jp",
    "city.kobe.jp",
)


def names() -> list[str]:
    rules = sorted(public_suffixes().rules)[:: sized(7, 1)]
    endings = [rule.lstrip("!*.") for rule in rules]
    return [*ODD, *(before + ending for ending in endings for before in ("", "a.", "b.a.", "c.b.a.", "www.", "x"))]


def test_every_rule_of_the_list_is_there_also_as_it_is_requested() -> None:
    rules = public_suffixes().rules
    assert rules == THEIRS._publicsuffix
    assert {"co.uk", "*.ck", "!www.ck", "公司.cn", "xn--55qx5d.cn"} <= rules


def test_names_are_divided_as_the_package_divides_them() -> None:
    ours = public_suffixes()
    for name in names():
        assert ours.registered(name) == THEIRS.privatesuffix(name), name
        assert ours.is_suffix(name) == THEIRS.is_public(name), name
        assert ours.ends_in_one(name) == (THEIRS.publicsuffix(name, accept_unknown=False) is not None), name


@pytest.mark.parametrize(
    ("name", "registered"),
    [
        ("a.b.example.com", "example.com"),
        ("a.co.uk", "a.co.uk"),
        ("co.uk", None),
        ("a.b.ck", "a.b.ck"),
        ("www.ck", "www.ck"),
    ],
)
def test_a_registered_name_is_one_label_longer_than_its_suffix(name: str, registered: str | None) -> None:
    assert PublicSuffixes(frozenset({"com", "co.uk", "*.ck", "!www.ck"})).registered(name) == registered
