"""Which columns a page has, compared between visits."""

from __future__ import annotations

from itertools import product

from comity.rules.expressions.printing import columns_key, has_columns

KEYS = {
    (expressions, text, markdown, own): columns_key(expressions, text=text, markdown=markdown, has_extractor=own)
    for expressions, text, markdown, own in product(("", "a FROM meta.a", "b FROM meta.b"), *[(False, True)] * 3)
}


def test_keys_differ_and_fit_into_a_column() -> None:
    assert len(set(KEYS.values())) == len(KEYS)
    assert KEYS["", False, False, False] == 0
    assert all(0 <= key < 1 << 63 for key in KEYS.values())


def test_a_page_has_what_is_wanted_if_nothing_was_added_or_changed() -> None:
    """Every pair of keys."""
    for known, wanted in product(KEYS, KEYS):
        has_expressions = wanted[0] in ("", known[0])
        has_rest = all(there or not needed for there, needed in zip(known[1:], wanted[1:], strict=True))
        assert has_columns(KEYS[known], KEYS[wanted]) == (has_expressions and has_rest), (known, wanted)


def test_a_page_of_which_nothing_was_read_has_only_nothing() -> None:
    assert [wanted for wanted, key in KEYS.items() if has_columns(None, key)] == [("", False, False, False)]
