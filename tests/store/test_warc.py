"""WARC files as archives read them."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from comity.store.segment import SegmentWriter
from tests.store.light import compressed, nothing, page
from tests.store.samples import recovered, store_all

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of names in the package that we do not use
    from fastwarc.warc import ArchiveIterator as FastIterator
    from fastwarc.warc import WarcRecordType

BOTH = ("pages.warc", "pages.warc.gz")


def records(path: Path) -> list[tuple[str, dict[str, str], Any, bytes]]:
    """Type, fields, HTTP head and content of every record, by warcio; digests are checked."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            fields = dict(record.rec_headers.headers)
            found.append((record.rec_type, fields, record.http_headers, record.content_stream().read()))
    return found


@pytest.mark.parametrize("name", BOTH)
def test_a_page_is_a_response_after_the_warcinfo(tmp_path: Path, name: str) -> None:
    store_all(tmp_path / name, [page(1)])
    (kind, about, _head, text), (response, fields, head, body) = records(tmp_path / name)
    assert (kind, response) == ("warcinfo", "response")
    assert about["WARC-Filename"] == name
    assert b"software: Comity/" in text
    assert fields["WARC-Target-URI"] == page(1).url
    assert fields["WARC-Date"] == "2023-11-14T22:13:20.001000Z"
    assert fields["WARC-Warcinfo-ID"] == about["WARC-Record-ID"]
    assert fields["Content-Type"] == "application/http;msgtype=response"
    assert head.statusline == "200 OK"
    assert head.get_header("Content-Type") == "text/html; charset=utf-8"
    assert head.get_header("ETag") == '"1"'
    assert body == page(1).body


@pytest.mark.parametrize("name", BOTH)
def test_another_reader_finds_the_same(tmp_path: Path, name: str) -> None:
    pages = [page(1), compressed(page(2)), nothing(3)]
    store_all(tmp_path / name, pages)
    with (tmp_path / name).open("rb") as file:
        found = [
            (record.record_type, record.headers.get("WARC-Target-URI"), record.verify_block_digest())
            for record in FastIterator(file, parse_http=False)
        ]
    response, metadata = WarcRecordType.response, WarcRecordType.metadata
    assert found[1:] == [(response, pages[0].url, True), (response, pages[1].url, True), (metadata, pages[2].url, True)]
    with (tmp_path / name).open("rb") as file:
        payloads = [
            (record.verify_payload_digest(), record.http_headers.status_code)
            for record in FastIterator(file, record_types=response)
        ]
    assert payloads == [(True, 200), (True, 200)]


def test_a_body_stays_as_it_came_off_the_wire(tmp_path: Path) -> None:
    record = compressed(page(1))
    store_all(tmp_path / "pages.warc", [record])
    assert record.coded is not None
    assert record.coded in (tmp_path / "pages.warc").read_bytes()
    _kind, _fields, head, body = records(tmp_path / "pages.warc")[1]
    assert head.get_header("Content-Encoding") == "gzip"
    assert head.get_header("Content-Length") == str(len(record.coded))
    assert body == record.body  # the reader inflates it


def test_headers_are_kept_as_they_came_but_for_what_is_no_longer_true(tmp_path: Path) -> None:
    came = (
        ("server", "Apache"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-name", "caf\xe9"),
        ("content-encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("content-length", "99999"),
        ("connection", "close"),
    )
    store_all(tmp_path / "pages.warc", [page(1, headers=came, address="192.0.2.7")])
    _kind, fields, head, _body = records(tmp_path / "pages.warc")[1]
    assert fields["WARC-IP-Address"] == "192.0.2.7"
    length = str(len(page(1).body or b""))
    assert [name for name, _ in head.headers] == ["server", "set-cookie", "set-cookie", "x-name", "Content-Length"]
    assert head.get_header("content-length") == length
    assert b"x-name: caf\xe9\r\n" in (tmp_path / "pages.warc").read_bytes()


def test_headers_survive_a_crash(tmp_path: Path) -> None:
    segment = SegmentWriter(tmp_path / "pages.warc.spool" / "segment-x-000001.open")
    segment.append([page(1, headers=(("server", "Apache"),), address="192.0.2.7")])
    segment.leave()
    assert recovered(tmp_path / "pages.warc", [page(1).url]) == 1
    _kind, fields, head, _body = records(tmp_path / "pages.warc")[1]
    assert fields["WARC-IP-Address"] == "192.0.2.7"
    assert head.get_header("server") == "Apache"


def test_a_visit_without_a_body_says_why(tmp_path: Path) -> None:
    store_all(tmp_path / "pages.warc", [nothing(1)])
    kind, fields, _head, text = records(tmp_path / "pages.warc")[1]
    assert (kind, fields["WARC-Target-URI"]) == ("metadata", page(1).url)
    assert b"error: http_404\r\n" in text
    assert b"http-status: 404\r\n" in text


def test_a_page_behind_redirects_names_both_addresses(tmp_path: Path) -> None:
    moved = page(1, final_url="https://example.com/new", redirect_count=2)
    store_all(tmp_path / "pages.warc", [moved])
    (_, response, _, _), (kind, fields, _, text) = records(tmp_path / "pages.warc")[1:]
    assert response["WARC-Target-URI"] == "https://example.com/new"
    assert kind == "metadata"
    assert fields["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert fields["WARC-Target-URI"] == moved.url
    assert b"final-url: https://example.com/new\r\n" in text


def test_every_record_is_a_gzip_member_of_its_own(tmp_path: Path) -> None:
    store_all(tmp_path / "pages.warc.gz", [page(number) for number in range(5)])
    with (tmp_path / "pages.warc.gz").open("rb") as file:
        offsets = [record.stream_pos for record in FastIterator(file)]
    content = (tmp_path / "pages.warc.gz").read_bytes()
    assert len(offsets) == 6
    for begin, end in zip(offsets, [*offsets[1:], len(content)], strict=True):
        assert gzip.decompress(content[begin:end]).startswith(b"WARC/1.1\r\n")


def test_record_names_differ_and_stay_the_same(tmp_path: Path) -> None:
    pages = [page(1), page(2), nothing(3), page(4, redirect_count=1)]
    names = []
    for folder in ("first", "second"):
        store_all(tmp_path / folder / "pages.warc", pages)
        names.append([fields["WARC-Record-ID"] for _, fields, _, _ in records(tmp_path / folder / "pages.warc")])
    assert len(set(names[0])) == 6
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("https://example.com/é", "https://example.com/%C3%A9"),
        ("https://example.com/\r\nWARC-Type: x", "https://example.com/%0D%0AWARC-Type:%20x"),
        ("https://example.com/%7Ea?b=[c]&d=<e>", "https://example.com/%7Ea?b=[c]&d=%3Ce%3E"),
        ("https://example.com/\ud800\0", "https://example.com/%EF%BF%BD%00"),
        ("http://[2001:db8::1]:8080/*?~(x)'!", "http://[2001:db8::1]:8080/*?~(x)'!"),
    ],
)
def test_an_address_can_always_be_written(tmp_path: Path, url: str, written: str) -> None:
    store_all(tmp_path / "pages.warc", [page(1, url=url, final_url=url)])
    assert records(tmp_path / "pages.warc")[1][1]["WARC-Target-URI"] == written
