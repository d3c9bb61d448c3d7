"""What can be open at once in a page is the same by the module in C and by the regular expression."""

from __future__ import annotations

import shutil
import sysconfig
import time
from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract import html_pool
from comity.extract.html_pool import LINKS_BYTES
from tests.extract.test_html_hostile import HOSTILE


def is_compiled() -> bool:
    """Without a compiler the regular expression is used, as tests of `is_light` do everywhere."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return html_pool._open_at_once_in_c is not None or shutil.which(compiler) is not None


def agrees(body: bytes) -> bool:
    """Whether both give the same, with and without elements that have no attributes."""
    in_c = html_pool._open_at_once_in_c or html_pool._open_at_once
    pairs = [(in_c(body, with_plain), html_pool._open_at_once(body, with_plain)) for with_plain in (False, True)]
    return all(isclose(found, expected) for found, expected in pairs)


def test_it_is_compiled_where_there_is_a_compiler() -> None:
    assert (html_pool._open_at_once_in_c is not None) == is_compiled()


PIECES = (
    '<a href="x">', "<a href='x'>", "<a href=x>", "<a ", "<a/", "<a>", "<abbr>", f"<a {'x' * 33}>",
    "<a " + 'x="" ' * 13 + ">", "<b>", "<b ", "<b/ >", "<b / >", "<b a / b>", "<b =x>", "<B CLASS=x>", "<i a='1'>",
    "<em>", "<em a=\xff>", "<html a>", "<html>", '<body x="y">', "<BODY  a=b c>", "<bode x>", "<small/>", "<sm x>",
    '<strong class="a" id=b>', "<strike\n>", "<st>", "<tt>", "<td>", "<th>", "<title>", "<code >", "<font size=+1>",
    "<nobr a=(>", "<big a=>", '<s a="', "<u \x0b a>", "<b a:b.c@d-e=f/g?h#i&j%k;l,m+n>", "<i\0>", "<i \0>", "</b>",
    "'", '"', ">", "<", "=", " ", "/", "text ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_whatever_is_put_together_is_weighed_alike(pieces: list[str]) -> None:
    assert agrees("".join(pieces).encode("latin-1"))


@given(st.text(alphabet="<>abitm =/'\"\n", max_size=60))
def test_any_characters_are_weighed_alike(markup: str) -> None:
    assert agrees(markup.encode())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_weighed_alike_and_at_once(name: str) -> None:
    body = HOSTILE[name][:LINKS_BYTES]
    assert agrees(body)
    if html_pool._open_at_once_in_c is not None:
        taken = []
        for _turn in range(3):
            began = time.process_time()
            html_pool._open_at_once_in_c(body, True)
            taken.append(time.process_time() - began)
        assert min(taken) < 0.05


def test_too_many_different_tags_are_more_than_any_light_page_has() -> None:
    body = b"".join(b"<b a=%d>" % number for number in range(1001))
    expected = inf if is_compiled() else html_pool._open_at_once(body, False)
    assert (html_pool._open_at_once_in_c or html_pool._open_at_once)(body, False) == expected
    assert not html_pool._grows_little(body, body.count(b"<"))
