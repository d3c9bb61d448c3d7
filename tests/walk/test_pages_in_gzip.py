"""Pages that came in gzip are stored as they came, or compressed again; readers see no difference."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from comity.store.formats.columns import NAMES
from tests.walk.crawling import Place
from tests.walk.site import Answer, Route, Web, page

BODY = "".join(f"<p>paragraph {number} of a page</p>" for number in range(400))


def streamed(text: str) -> Answer:
    """A page that its server compresses while it makes it, a piece at a time."""
    coder = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = text.encode()
    pieces = (coder.compress(data[at : at + 700]) + coder.flush(zlib.Z_SYNC_FLUSH) for at in range(0, len(data), 700))
    return Answer(body=b"".join((*pieces, coder.flush())), headers={"Content-Encoding": "gzip"})


def routes() -> dict[str, Route]:
    names = ["/streamed", "/parted", "/cyrillic", "/plain", *(f"/{number}" for number in range(30))]
    ordinary = {f"/{number}": page(body=BODY, title=f"page {number}") for number in range(30)}
    text = page(body=BODY)
    parted = b"".join(gzip.compress(piece) for piece in (text[:1000].encode(), text[1000:].encode()))
    return {
        **{path: Answer(body=body, is_gzipped=True) for path, body in {"/": page(*names), **ordinary}.items()},
        "/streamed": streamed(page(body=BODY, title="слова")),
        "/parted": Answer(body=parted, headers={"Content-Encoding": "gzip"}),
        "/cyrillic": Answer(body="слова".encode("cp1251"), type="text/html; charset=windows-1251", is_gzipped=True),
        "/plain": page(body=BODY),
    }


def codecs(folder: Path) -> set[str]:
    groups = [pq.ParquetFile(path).metadata.row_group(0) for path in folder.glob("part-*.parquet")]
    return {group.column(NAMES.index("body")).compression for group in groups}


@pytest.mark.parametrize(("compression", "codec"), [("gzip", "GZIP"), ("zstd", "ZSTD")])
def test_bodies_are_stored_as_the_setting_says_and_read_as_what_they_are(
    web: Web, place: Place, compression: str, codec: str
) -> None:
    site = web.site(routes())
    place.env["COMITY_PAGES_COMPRESSION"] = compression
    ended = place.comity("crawl", site.url())
    assert ended.code == 0, ended
    assert codecs(place.pages) == {codec}
    kept = {url.removeprefix(site.url("")): row["body"] for url, row in place.kept().items()}
    assert kept["/7"] == page(body=BODY, title="page 7")
    assert kept["/streamed"] == page(body=BODY, title="слова")
    assert kept["/parted"] == kept["/plain"] == page(body=BODY)
    assert kept["/cyrillic"] == "слова"
    assert len(kept) == 35
    found = duckdb.sql(f"SELECT url, body FROM '{place.pages}/part-*.parquet'").fetchall()
    assert {url.removeprefix(site.url("")): body for url, body in found} == kept
    told = place.comity("--json", "pages", "body", site.url("/streamed"))
    assert json.loads(told.out)["body"] == kept["/streamed"]
    assert place.comity("pages", "verify").code == 0
