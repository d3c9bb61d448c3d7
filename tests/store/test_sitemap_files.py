"""Sitemaps kept for later: what is found again, what is not, and that the folder is bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from comity.store import sitemap_files
from comity.store.sitemap_files import KeptSitemap, SitemapFiles

NOW = 1_700_000_000.0


def sitemap(number: int = 1, at: float = NOW, body: bytes = b"<urlset/>") -> KeptSitemap:
    url = f"https://example.com/{number}.xml"
    return KeptSitemap(url, f"{url}?moved", 200, "application/xml", at, body)


def test_a_sitemap_is_found_until_it_is_too_old(tmp_path: Path) -> None:
    files = SitemapFiles(tmp_path / "kept", 3600)
    files.keep(sitemap())
    assert files.find(sitemap().url, NOW + 3599) == sitemap()
    assert files.find(sitemap().url, NOW + 3600) is None
    assert files.find(sitemap().url, NOW - 1) is None  # the clock was set back
    assert files.find(sitemap(2).url, NOW) is None
    files.keep(sitemap(at=NOW + 5000))
    assert files.find(sitemap().url, NOW + 5001) is not None


def test_nothing_is_kept_for_no_time(tmp_path: Path) -> None:
    files = SitemapFiles(tmp_path / "kept", 0)
    files.keep(sitemap())
    assert not files.folder.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]\n", b'["u", 200, null, 1700000000.0, "x"]\nnot zstd'])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: bytes) -> None:
    files = SitemapFiles(tmp_path, 3600)
    files.keep(sitemap())
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert files.find(sitemap().url, NOW) is None
    cut = SitemapFiles(tmp_path, 3600)
    cut.keep(sitemap(body=b"x" * 1000))
    path.write_bytes(path.read_bytes()[:-3])
    assert cut.find(sitemap().url, NOW) is None


def test_the_folder_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap_files, "MOST_FILES", 3)
    files = SitemapFiles(tmp_path, 3600)
    for number in range(8):
        files.keep(sitemap(number))
        for path in tmp_path.iterdir():
            if path.stat().st_mtime > NOW:
                os.utime(path, (number, number))
    assert len(list(tmp_path.iterdir())) == 3
    assert files.find(sitemap(7).url, NOW) is not None
    monkeypatch.setattr(sitemap_files, "MOST_BYTES", 10)
    files.keep(sitemap(9))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    SitemapFiles(tmp_path / "file" / "kept", 3600).keep(sitemap())
