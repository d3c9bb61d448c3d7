"""What a phone must not leave out of a table: why something failed, was refused or ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.console.seed_hosts import PLAIN


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/sources", "robots disallow"),
        ("/crawl/logs", "the server answered 503"),
        ("/crawl/runs", "the host's name could not be resolved"),
        ("/hosts?status=blocked", "forbidden"),
        (f"/hosts/{PLAIN}/evidence", "Disallow: /private"),
    ],
)
def test_a_phone_shows_why(visit: OpenPage, path: str, reason: str) -> None:
    page = visit(path, phone=True)
    expect(page.locator(".table-block tbody tr", has_text=reason).first.get_by_text(reason).first).to_be_visible()


def test_the_order_in_force_can_be_seen_on_a_phone(visit: OpenPage) -> None:
    page = visit("/hosts", phone=True)
    for path in (
        "/hosts",
        "/crawl_jobs",
        "/crawl_results",
        "/sources",
        "/crawl_policies",
        "/crawl/runs",
        "/crawl/logs",
    ):
        page.goto(page.url.partition("/admin")[0] + f"/admin{path}")
        expect(page.locator("th[aria-sort]")).to_be_visible()
