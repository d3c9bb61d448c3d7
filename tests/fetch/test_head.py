"""Heads are read field by field, whatever their shape; requests are written so that nothing can be slipped in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.fetch import head
from comity.fetch.head import (
    content_length,
    encode_headers,
    final_head,
    parse_fields,
    parse_status_line,
    request_headers,
)
from comity.model.fetch import FetchRequest, Headers

STATUS = b"HTTP/1.1 200 OK\r\n"
names = st.text(alphabet="abcdefXYZ-", min_size=1, max_size=10)
values = st.text(
    alphabet=st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f\x85\xa0"), max_size=20
)


@given(st.lists(st.tuples(names, values), max_size=12))
def test_fields_come_back_as_they_were_sent(pairs: list[tuple[str, str]]) -> None:
    lines = [f"{name}: {value}\r\n".encode("latin-1") for name, value in pairs]
    headers = parse_fields([STATUS, *lines])
    expected = [(name.lower(), value.strip()) for name, value in pairs]
    assert list(headers) == expected
    assert len(headers) == len(expected)
    for name, _ in pairs:
        same = tuple(value for key, value in expected if key == name.lower())
        assert headers.get_all(name.upper()) == same
        assert headers.get(name.swapcase()) == same[0]
        assert name in headers
    assert headers.repeats == (len({name for name, _ in expected}) < len(expected))
    assert headers == Headers(expected)


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"") + b"\r\n"), max_size=10))
def test_no_line_breaks_the_reading(lines: list[bytes]) -> None:
    headers = parse_fields([STATUS, *lines])
    assert all(name == name.lower() for name, _ in headers)


written = st.sampled_from(
    [
        *(
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/2 404\r\n",
            b"HTTP/1.1 100 Continue\r\n",
            b"HTTP/1.1 200 a:b\r\n",
            b"HTTP/1.1 20\r\n",
        ),
        *(b"\r\n", b"\n", b"\r", b"", b"HTTP/1.1 200\r\n", b"HTTP/10 200 OK\r\n", b"HTTP/1.1  200 OK\r\n"),
        *(b"Server: nginx\r\n", b"server: other\r\n", b'ETag:\t "a" \t\r\n', b"A: b\n", b" folded\r\n", b": x\r\n"),
        *(
            b"X-Odd : \xe4\r\n",
            b"X: a\x00\r\n",
            b"no colon\r\n",
            b"Long: " + b"v" * 300 + b"\r\n",
            b"N" * 200 + b": v\r\n",
        ),
    ]
)


@given(st.lists(written, max_size=6), st.booleans())
def test_a_head_is_read_the_same_in_c(lines: list[bytes], is_whole: bool) -> None:
    lines = [STATUS, *lines, b"\r\n"] if is_whole else lines
    assert head._plain_in_c is not None, "the module in C is not compiled"
    found = head.read_head(lines, 200, 65_536)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(head, "_plain_in_c", None)
        assert head.read_head(lines, 200, 65_536) == found


@pytest.mark.parametrize(("lines_most", "bytes_most"), [(3, 1000), (200, 30)])
def test_a_head_that_is_too_long_is_refused(lines_most: int, bytes_most: int) -> None:
    lines = [STATUS, b"A: b\r\n", b"C: d\r\n", b"\r\n"]
    assert head.read_head(lines, 4, 31) == ("1.1", 200, Headers([("a", "b"), ("c", "d")]))
    with pytest.raises(head.HeaderFlood, match="4 header lines, 31 bytes"):
        head.read_head(lines, lines_most, bytes_most)


def test_headers_are_values() -> None:
    headers = Headers([("a", "1"), ("a", "2")])
    assert headers.get("a") == "1"
    assert headers.get("b") is None
    assert headers.get("b", "x") == "x"
    assert headers.get_all("b") == ()
    assert "b" not in headers
    assert 5 not in headers
    assert hash(headers) == hash(Headers([("a", "1"), ("a", "2")]))
    assert headers != Headers([("a", "1")])
    assert repr(headers) == "Headers([('a', '1'), ('a', '2')])"


@pytest.mark.parametrize(
    ("line", "version", "status"),
    [
        (b"HTTP/1.1 200 OK\r\n", "1.1", 200),
        (b"HTTP/1.0 404\r\n", "1.0", 404),
        (b"HTTP/2 304 \r\n", "2", 304),
        (b"HTTP/1.1  200 OK\r\n", "1.1", 200),
        (b"HTTP/1.1 abc\r\n", "1.1", 0),
        (b"HTTP/1.1\r\n", "1.1", 0),
        (b"HTTP/1.1 20\r\n", "1.1", 0),
        (b"", "", 0),
    ],
)
def test_status_lines(line: bytes, version: str, status: int) -> None:
    assert parse_status_line(line) == (version, status)


@pytest.mark.parametrize(
    ("lines", "own"),
    [
        ([], None),
        ([STATUS], None),
        ([STATUS, b"A: b\r\n"], None),
        ([STATUS, b"A: b\r\n", b"\r\n"], [STATUS, b"A: b\r\n"]),
        ([STATUS, b"A: b\n", b"\n"], [STATUS, b"A: b\n"]),
        ([STATUS, b"\r\n", b"Trailer: x\r\n", b"\r\n"], [STATUS]),
        ([b"HTTP/1.1 100 Continue\r\n", b"\r\n"], None),
        ([b"HTTP/1.1 103 Hints\r\n", b"Link: x\r\n", b"\r\n", STATUS, b"A: b\r\n", b"\r\n"], [STATUS, b"A: b\r\n"]),
    ],
)
def test_only_the_answers_own_head_counts(lines: list[bytes], own: list[bytes] | None) -> None:
    assert final_head(lines) == own


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ([], None),
        (["10"], 10),
        (["10", "10"], 10),
        (["10, 10"], 10),
        (["10", "20"], -1),
        (["10, 20"], -1),
        (["-1"], -1),
        (["+1"], -1),
        (["0x10"], -1),
        (["１０"], -1),
        (["1_0"], -1),
        ([""], -1),
        (["9" * 50], int("9" * 50)),
        (["9" * 5000], -1),
    ],
)
def test_lengths(fields: list[str], length: int | None) -> None:
    assert content_length(Headers(("content-length", value) for value in fields)) == length


def test_own_fields_replace_defaults_whatever_their_case() -> None:
    lines = request_headers((("User-Agent", "a"), ("Accept", "b")), FetchRequest("", headers=(("ACCEPT", "c"),)))
    assert lines == [b"User-Agent: a", b"ACCEPT: c"]


def test_an_empty_field_is_written_so_that_libcurl_sends_it() -> None:
    assert encode_headers((("X-Empty", ""), ("X-Full", "y"))) == [b"X-Empty;", b"X-Full: y"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_field_becomes_two(name: str, value: str) -> None:
    lines = request_headers((), FetchRequest("", headers=((name, value),), etag=value, last_modified=value))
    if not isinstance(lines, str):
        assert all(b"\r" not in line and b"\n" not in line and b"\0" not in line for line in lines)
        assert len(lines) in (1, 3)
