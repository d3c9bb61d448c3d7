"""docs/audit.md: its commands and its script run on a small shop, and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from comity.model.audit import FindingCode
from comity.rules.audit.catalogue import CATALOGUE
from tests.documents import blocks
from tests.doors.command_line import CommandLine
from tests.walk.site import Answer, Site, Web

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
HEADERS = {
    "Cache-Control": "max-age=600",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
ROBOTS = "User-agent: *\nDisallow: /cart/\n\nUser-agent: GPTBot\nDisallow: /\n\nSitemap: {origin}/sitemap.xml\n"


def html(about: str, *links: str, title: str | None = None) -> Answer:
    """A page of the shop, with a text of its own."""
    words = " ".join(f"{about.lower()}-{number}" for number in range(250))
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    head = (
        f'<title>{title or about}</title><meta name="viewport" content="width=device-width">'
        f'<meta name="description" content="Our page about {about.lower()}.">'
    )
    body = f"<main><h1>{about}</h1><p>{words}</p><ul>{anchors}</ul></main>"
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    return Answer(body=page, headers=HEADERS, is_gzipped=True)


def shop(web: Web) -> Site:
    """A shop with a link to a page that is gone, a redirect, a title used twice, and a page that no link leads to."""
    site = web.site(
        {
            "/": html("Harbour", "/books", "/about", "/summer-sale", "/cart/view"),
            "/books": html("Books", "/", "/about", "/summer-sale", title="Harbour Books"),
            "/about": html("Us", "/", title="Harbour Books"),
            "/maps": html("Maps", "/"),
        }
    )
    listed = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/", "/books", "/about", "/maps"))
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    site.routes["/sitemap.xml"] = Answer(body=sitemap, type="application/xml")
    site.routes["/robots.txt"] = Answer(body=ROBOTS.format(origin=site.url("")), type="text/plain")
    return site


def as_shown(text: str, site: Site) -> str:
    """What differs from run to run, as the page writes it."""
    text = text.replace(f"http://{site.host}", "https://example.com")
    text = re.sub(r"127\.0\.0\.1-\d+-\d{8}-\d{6}-\w{4}", "example.com-20260105-090000-1f2e", text)
    text = re.sub(r"\(\d+\.\d kB\)", "(38.2 kB)", text)
    return re.sub(r"in \d+\.\d s", "in 2.8 s", text)


def test_the_example_prints_what_the_page_shows(comity: CommandLine, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    site = shop(web)
    text = PAGE.read_text(encoding="utf-8")
    first, *others = [line for block in blocks(text, "sh") for line in block.splitlines()]
    answer = comity(*_words(first, site))
    assert answer.code == 0, answer
    shown = next(block for block in blocks(text, "text") if block.startswith("Audit of"))
    assert as_shown(answer.out, site).split() == shown.split()  # the page wraps lines
    assert Path("audit.html").stat().st_size > 20_000
    for line in others:
        if " compare " in line:  # it needs an earlier audit
            comity.done(*_words(first, site))
        if " report " in line or " list" in line or " compare " in line:
            answer = comity(*_words(line, site))
            assert answer.code == 0, (line, answer)
    assert Path("tables/links.parquet").is_file()


def _words(line: str, site: Site) -> list[str]:
    words = line.removeprefix("comity ").partition(" > ")[0].split()
    return [word.replace("https://example.com/", site.url()).replace("example.com", site.host) for word in words]


def test_the_script_of_the_page_runs(
    comity: CommandLine, web: Web, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    site = shop(web)
    (script,) = blocks(PAGE.read_text(encoding="utf-8"), "python")
    exec(compile(script.replace("https://example.com/", site.url()), str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "error" in printed
    assert Path("audit.html").is_file()


def test_the_page_lists_every_finding() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = text[text.index("<!-- findings -->") : text.index("<!-- end of findings -->")]
    rows = [line for line in listed.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{code}` | {CATALOGUE[code].severity} | {CATALOGUE[code].title} |" for code in FindingCode]
