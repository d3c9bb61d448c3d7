"""What SQL lists of sitemaps that were kept."""

from __future__ import annotations

from pathlib import Path

from comity.run.sql.function_pages import listed_urls
from comity.store.sitemap_files import KeptSitemap, SitemapFiles


def test_an_entry_that_is_no_url_is_listed_without_a_host(tmp_path: Path) -> None:
    body = b"<urlset><url><loc>http://[</loc></url><url><loc>https://example.com/</loc></url></urlset>"
    files = SitemapFiles(tmp_path, 3600)
    files.keep(KeptSitemap("https://example.com/s.xml", "https://example.com/s.xml", 200, "application/xml", 1.0, body))
    assert [(row[0], row[2]) for row in listed_urls(files)] == [
        ("", "http://["),
        ("example.com", "https://example.com/"),
    ]
