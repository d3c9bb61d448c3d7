"""What requests carry: to its own origin and nowhere else, through the proxy that is meant, and on no disk."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from comity.fetch.dialler import ProxiedNames
from comity.model.fetch import Proxy
from comity.rules.request_options import sticky_proxy
from tests.hostile.proxy import LoopbackProxy
from tests.hostile.web import CERTIFICATES, server_context
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place, line_of
from tests.walk.forking import INTERPRETED
from tests.walk.login_site import PASSWORD, SESSION, USER, behind_login, login_file, login_form
from tests.walk.pictures import png
from tests.walk.site import Answer, Asked, Site, Web, page, redirect, tree

DEAD = "http://127.0.0.1:4"
HEADER, COOKIE, TOKEN = "header-s3cret", "cookie-s3cret", "token-s3cret"
# Every other place that the site of the secrets leads to: another name, subdomain, port or scheme.
OTHERS = {
    "https://www.site.test": ("www.site.test:443", True),
    "https://sub.site.test": ("sub.site.test:443", True),
    "https://site.test:8443": ("site.test:8443", True),
    "http://site.test": ("site.test:80", False),
    "http://site.test:8080": ("site.test:8080", False),
    "https://a.test": ("a.test:443", True),
    "http://b.test": ("b.test:80", False),
    "https://c.test": ("c.test:443", True),
}


@pytest.fixture(autouse=True)
def no_names_are_known_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every name to the proxy at once: some machines take seconds to find out that there is no `site.test`."""

    async def look_up(_host: str) -> list[str]:
        raise OSError("no such name here")

    monkeypatch.setattr("comity.fetch.fetcher.ProxiedNames", partial(ProxiedNames, look_up=look_up))


def carries(seen: Any) -> set[str]:
    """Which of the secrets a request had, in whatever header."""
    text = repr(sorted(seen.headers.items()))
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    return {each for each in (HEADER, COOKIE, TOKEN, basic, "set-by-site") if each in text}


@contextmanager
def names(web: Web, home: Site, others: dict[str, Site]) -> Iterator[LoopbackProxy]:
    """A proxy that knows the sites by their names."""
    places = {OTHERS[origin][0]: ("127.0.0.1", site.port) for origin, site in others.items()}
    places["site.test:443"] = ("127.0.0.1", home.port)
    dead = web.site({})
    with LoopbackProxy(("127.0.0.1", dead.port), "socks5h", names=places) as proxy:
        yield proxy
    assert dead.log == [], "a name that no site has was asked for"


def web_of_names(web: Web) -> tuple[Site, dict[str, Site]]:
    """A site that leads to every other place in every way, and those places."""
    context = server_context("good")
    others: dict[str, Site] = {}
    for origin, (_name, is_secure) in OTHERS.items():
        routes: dict[str, Any] = {"/landed": page(title="landed"), "/": page(title="other"), "/pic.png": picture()}
        routes["/robots-of-site.txt"] = Answer(
            body="User-agent: *\nSitemap: https://c.test/sitemap.xml\nSitemap: https://site.test/map.xml\n",
            type="text/plain",
        )
        routes["/sitemap.xml"] = Answer(body="https://site.test/listed\n", type="text/plain")
        routes["/back"] = redirect("https://site.test/back-home")
        others[origin] = web.site(routes, certificate=context if is_secure else None)
    setting = {"Set-Cookie": "own=set-by-site; Path=/; Domain=site.test"}
    routes = {
        "/": Answer(
            body=page(
                "/canon",
                "/bounce",
                "/image-elsewhere",
                *(f"/to{number}" for number in range(len(others))),
                body='<img src="/pic.png"><img src="https://sub.site.test/pic.png">',
            ),
            headers=setting,
        ),
        "/canon": page(head='<link rel="canonical" href="https://sub.site.test/landed">'),
        "/bounce": redirect("https://a.test/back"),
        "/back-home": page(title="back"),
        "/image-elsewhere": page(body='<img src="/moved.png">'),
        "/moved.png": redirect("https://c.test/pic.png"),
        "/pic.png": picture(),
        "/map.xml": redirect("http://b.test/sitemap.xml"),
        "/listed": page(title="listed"),
        "/robots.txt": redirect("https://a.test/robots-of-site.txt"),
    }
    for number, origin in enumerate(others):
        routes[f"/to{number}"] = redirect(f"{origin}/landed")
    return web.site(routes, certificate=context), others


def picture() -> Answer:
    return Answer(body=png(8, 8), type="image/png")


@pytest.mark.parametrize("scoped", [False, True], ids=["of the seeds", "of one host"])
def test_nothing_of_one_host_reaches_another_whatever_leads_there(web: Web, place: Place, scoped: bool) -> None:
    home, others = web_of_names(web)
    place.env |= {"SSL_CERT_FILE": str(CERTIFICATES / "ca.pem"), "COMITY_SITEMAPS": "true"}
    place.env |= {"S_HEADER": HEADER, "S_COOKIE": COOKIE, "S_TOKEN": TOKEN}
    scope = "https://site.test: " if scoped else ""
    seeds = ["https://site.test/", *(f"{origin}/" for origin in others)] if scoped else ["https://site.test/"]
    with names(web, home, others) as proxy:
        told = place.comity(
            *("crawl", *seeds, "--images", "--proxy", proxy.url),
            *("--header", f"{scope}X-Secret: env:S_HEADER", "--cookie", f"{scope}mine=env:S_COOKIE"),
            *("--auth", f"{scope}basic me env:S_TOKEN"),
        )
    assert told.code == 0, told
    for origin, site in others.items():
        # Where they are crawled at the same time, a redirect may come too late: then they are asked as seeds.
        assert ("/" if scoped else "/landed") in site.paths, f"{origin} was asked"
        assert [(seen.path, carries(seen)) for seen in site.log if carries(seen)] == [], origin
    assert "/robots-of-site.txt" in others["https://a.test"].paths
    assert "/sitemap.xml" in others["http://b.test"].paths
    assert "/pic.png" in others["https://c.test"].paths
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    wanted = {HEADER, COOKIE, basic}
    assert {"/robots.txt", "/", "/map.xml", "/pic.png", "/back-home", "/listed", "/to0"} <= set(home.paths)
    for seen in home.log:
        assert carries(seen) >= wanted, f"{seen.path} lacks something"
    assert any("set-by-site" in carries(seen) for seen in home.log), "the jar is used"


def test_credentials_go_from_http_to_https_of_the_same_host_and_never_back(web: Web, place: Place) -> None:
    secure = web.site(
        {"/": page("/down"), "/down": redirect("http://site.test/plain"), "/robots.txt": Answer(404)},
        certificate=server_context("good"),
    )
    plain = web.site({"/": redirect("https://site.test/"), "/plain": page()})
    place.env |= {"SSL_CERT_FILE": str(CERTIFICATES / "ca.pem"), "S": HEADER}
    places = {"site.test:443": ("127.0.0.1", secure.port), "site.test:80": ("127.0.0.1", plain.port)}
    with LoopbackProxy(("127.0.0.1", 4), "socks5h", names=places) as proxy:
        options = ("--proxy", proxy.url, "--header", "X-Secret: env:S")
        assert place.comity("crawl", "http://site.test/", *options).code == 0
        assert {HEADER in repr(seen.headers) for seen in secure.log} == {True}, "http was named, so https may have it"
        secure.log.clear()
        plain.log.clear()
        assert place.comity("crawl", "https://site.test/", *options, "--refresh").code == 0
    assert "/plain" in plain.paths
    assert {HEADER in repr(seen.headers) for seen in secure.log} == {True}
    assert [seen.path for seen in plain.log if HEADER in repr(seen.headers)] == []


def test_a_header_for_a_bare_host_is_not_sent_without_tls(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": page()})
    place.env["S"] = HEADER
    told = place.comity("crawl", site.host, "--header", "X-Secret: env:S", "--retries", 0)
    assert told.code == 0, told
    assert "/a" in site.paths
    assert [seen for seen in site.log if HEADER in repr(seen.headers)] == []


def test_a_jar_lasts_as_long_as_the_lease_and_is_off_without_being_asked_for(web: Web, place: Place) -> None:
    def once(asked: Asked) -> Answer | str:
        return Answer(body=page("/a", "/b"), headers={"Set-Cookie": "seen=set-by-site"})

    site = web.site({"/": once, "/a": page(), "/b": page()})
    assert place.comity("crawl", site.url()).code == 0
    assert [seen.headers.get("cookie") for seen in site.log] == [None] * 4
    site.log.clear()
    assert place.comity("crawl", site.url(), "--refresh", "--cookie-jar").code == 0
    assert [seen.headers.get("cookie") for seen in site.log if seen.path in ("/a", "/b")] == ["seen=set-by-site"] * 2
    assert not (place.folder / "cookies").exists()
    assert_nowhere(place.folder, ["set-by-site"])


def test_cookies_are_kept_with_the_host_on_request_in_a_file_of_their_own(web: Web, place: Place) -> None:
    site = behind_login(web, pages=4)
    log_in = login_options(place, site)
    assert place.comity("crawl", site.url(), *log_in, "--keep-cookies").code == 0
    (kept,) = (place.folder / "cookies").iterdir()
    assert SESSION in kept.read_text()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert_nowhere(place.folder, [SESSION], besides=kept)
    posted = [seen.path for seen in site.log if seen.method == "POST"]
    site.log.clear()
    told = place.comity("crawl", site.url(), *log_in, "--keep-cookies", "--refresh")
    assert told.code == 0, told
    assert [seen.path for seen in site.log if seen.method == "POST"] == posted, "the login page does not pass the check"
    site.log.clear()
    told = place.comity("crawl", site.url(), "--keep-cookies", "--refresh")
    assert told.code == 0, told
    assert {seen.headers.get("cookie") for seen in site.log if seen.path != "/robots.txt"} == {f"session={SESSION}"}


def login_options(place: Place, site: Site, **changes: str) -> tuple[str, ...]:
    secrets = place.folder.parent / f"{place.folder.name}-secrets"
    secrets.mkdir(exist_ok=True)
    file = secrets / "login.toml"
    file.write_text(login_file(site.url("/login"), **changes))
    place.env |= {"SITE_USER": USER, "SITE_PASSWORD": PASSWORD}
    return ("--login", str(file))


def test_a_site_behind_a_login_is_crawled_killed_and_resumed(web: Web, place: Place) -> None:
    site = behind_login(web, pages=24, robots="User-agent: *\nCrawl-delay: 0.05\nDisallow: /search\n")
    log_in = login_options(place, site)
    with place.begun("crawl", site.url(), *log_in) as process:
        wait_until(lambda: len([seen for seen in site.log if seen.path.startswith("/p")]) >= 8, 60, "eight pages")
        process.kill()
    before = len(site.log)
    told = place.comity("crawl", site.url(), *log_in)
    assert told.code == 0, told
    again = site.log[before:]
    assert [seen.path for seen in again if seen.method == "POST"] == ["/login?next=/"], "a new lease logs in anew"
    kept = place.kept()
    assert set(kept) == {site.url("/" if number == 0 else f"/p{number}") for number in range(24)}
    assert {row["http_status"] for row in kept.values()} == {200}
    assert {row["redirect_count"] for row in kept.values()} == {0}, "no page led to the login"
    asked_twice = {path for path in site.paths if path.startswith("/p") and site.paths.count(path) > 1}
    assert len(asked_twice) <= 3, "what was in flight, or not settled"
    ledger = place.rows("SELECT purpose, url FROM politeness_ledger")
    assert [row["url"] for row in ledger if row["purpose"] == "login"][-3:] == [
        site.url("/login"),
        site.url("/login?next=/"),
        site.url("/"),
    ]
    assert place.comity("verify-politeness").code == 0
    assert_nowhere(place.folder, [PASSWORD, SESSION])


@pytest.mark.parametrize("per_host", [1, 3])
def test_a_session_that_ends_is_renewed_and_a_logout_is_not_visited_for_ever(
    web: Web, place: Place, per_host: int
) -> None:
    site = behind_login(web, pages=20, has_logout=True)
    told = place.comity("crawl", site.url(), *login_options(place, site), "--per-host", per_host)
    assert told.code == 0, told
    kept = place.kept()
    inside = {site.url("/" if number == 0 else f"/p{number}") for number in range(20)}
    assert {url for url, row in kept.items() if row["redirect_count"] == 0} == inside
    assert {url for url, row in kept.items() if row["redirect_count"]} <= {site.url("/logout")}
    assert 2 <= len([seen for seen in site.log if seen.method == "POST"]) <= 6
    assert place.comity("verify-politeness").code == 0


LARGE = "<p>Text</p>" * 2_000  # too many tags to be parsed on the event loop


@pytest.mark.parametrize(
    ("outside", "ended"),
    [
        (Answer(401), ""),
        (Answer(403, body="<p>Forbidden</p>"), ""),
        (Answer(403, body=b"{}", type="application/json"), ""),
        (Answer(440), ""),
        (Answer(200, body=page(title="Sign in", body=login_form())), ""),
        (Answer(200, body=page(title="News", body=LARGE + login_form())), ""),
        (Answer(200, body=page(title="Welcome", body="<p class=timeout>Your time is up</p>")), 'text = "time is up"'),
        (Answer(200, body=page(title="Welcome", body="<p class=timeout>.</p>")), 'selector = ".timeout"'),
        (Answer(418), "statuses = [418]"),
    ],
    ids=["401", "403", "403-json", "440", "form", "large-form", "text", "selector", "status"],
)
def test_the_end_of_a_session_is_noticed_whatever_the_site_answers(
    web: Web, place: Place, outside: Answer, ended: str
) -> None:
    site = behind_login(web, pages=16, outside=outside, ends_after=7)
    told = place.comity("crawl", site.url(), *login_options(place, site, ended=ended), "--json")
    assert told.code == 0, told
    kept = place.kept()
    inside = {site.url("/" if number == 0 else f"/p{number}") for number in range(16)}
    assert {url for url, row in kept.items() if "Signed in" in (row["body"] or "")} == inside
    assert set(kept) == inside
    assert 3 <= len([seen for seen in site.log if seen.method == "POST"]) <= 5
    assert place.comity("verify-politeness").code == 0


@pytest.mark.parametrize("sign", [Answer(403), Answer(body=page(body=login_form()))], ids=["403", "form"])
def test_a_page_that_only_looks_logged_out_costs_few_logins(web: Web, place: Place, sign: Answer) -> None:
    """Pages that no one may see, or a form on every page: after three logins in vain, pages are taken as they are."""
    site = behind_login(web, pages=4)
    site.routes["/p3"] = page(*(f"/closed{number}" for number in range(8)), body='<p class="account">Signed in</p>')
    site.routes |= {f"/closed{number}": sign for number in range(8)}
    told = place.comity("crawl", site.url(), *login_options(place, site), "--json")
    assert told.json["summary"]["code"] in ("nothing_left", "already_done"), told
    assert len([seen for seen in site.log if seen.method == "POST"]) == 4
    closed = [path for path in site.paths if path.startswith("/closed")]
    assert (len(set(closed)), len(closed)) == (8, 11)


def test_a_login_by_tickets_leaves_none_of_them_in_the_state(web: Web, place: Place) -> None:
    """Single sign-on (CAS) puts a ticket into the URL that the form leads to."""
    ticket = "ST-4711-t1cket"
    site = behind_login(web, pages=3)
    enter = site.routes["/login?next=/"]

    def with_ticket(asked: Any) -> Any:
        answer = enter(asked)  # type: ignore[operator]
        return replace(answer, headers={**answer.headers, "Location": f"/?ticket={ticket}"})

    site.routes["/login?next=/"] = with_ticket
    site.routes[f"/?ticket={ticket}"] = site.routes["/"]
    told = place.comity("crawl", site.url(), *login_options(place, site), "--log-requests", place.folder / "log.jsonl")
    assert told.code == 0, told
    assert len(place.kept()) == 3
    assert f"/?ticket={ticket}" in site.paths
    assert_nowhere(place.folder, [ticket, PASSWORD, SESSION])
    assert place.comity("verify-politeness").code == 0


@pytest.mark.parametrize(
    ("changes", "robots", "reason"),
    [
        ({"password": "wrong"}, None, "does not pass the check"),
        ({"check": 'url = "/account"'}, None, "does not pass the check"),
        ({"check": 'text = "nowhere on the page"'}, None, "does not pass the check"),
        ({}, "User-agent: *\nDisallow: /login\n", "may not be requested"),
    ],
    ids=["password", "url", "text", "robots.txt"],
)
def test_a_login_that_does_not_work_leaves_the_site_alone_and_says_why(
    web: Web, place: Place, changes: dict[str, str], robots: str | None, reason: str
) -> None:
    site = behind_login(web, pages=4, robots=robots)
    told = place.comity("crawl", site.url(), *login_options(place, site, **changes), "--json")
    assert told.code == 1
    (line,) = told.json["summary"]["hosts"]
    assert (line["code"], line["status"], line["pages"]) == ("login_failed", "active", 0)
    assert reason in line["reason"]
    assert line["queued"] == 1, "the site is crawled once the login works"
    assert not {path for path in site.paths if path.startswith("/p")}
    if robots is not None:
        assert site.paths == ["/robots.txt"]
    assert PASSWORD not in told.out + told.err


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ('<form action="/login"><input name=user><input name=pass></form>', "uses GET"),
        ('<form method=post action="https://evil.example/"><input name=user><input name=pass></form>', "must stay at"),
        ("<form method=post><input name=user></form>", "no form with the fields user, pass"),
        ("<p>nothing</p>", "no form"),
    ],
)
def test_a_form_that_would_give_the_password_away_is_not_sent(web: Web, place: Place, form: str, reason: str) -> None:
    site = web.site({"/": page("/a"), "/login": page(body=form)})
    told = place.comity("crawl", site.url(), *login_options(place, site), "--json")
    (line,) = told.json["summary"]["hosts"]
    assert (line["code"], reason in line["reason"]) == ("login_failed", True), line
    assert {seen.method for seen in site.log} == {"GET"}
    assert_nowhere(place.folder, [PASSWORD, "pa55-word%26secret"])


class DigestSite:
    """A site that wants digest authentication, and a new nonce after some requests."""

    def __init__(self, web: Web, *, algorithm: str = "SHA-256", uses: int = 1000, user: str = "me") -> None:
        self.algorithm, self.uses, self.user = algorithm, uses, user
        self.count, self.used, self.replays = 0, 0, 0
        self.counts: set[str] = set()
        routes = {path: partial(self.answer, body) for path, body in tree(8).items()}
        self.site = web.site(routes, robots=partial(self.answer, "User-agent: *\nDisallow: /p3\n"))  # type: ignore[arg-type]

    @property
    def nonce(self) -> str:
        return f"nonce-{self.count}"

    def answer(self, body: str, asked: Asked) -> Answer:
        said = asked.headers.get("authorization", "")
        found = dict(re.findall(r'(\w+)="?([^",]*)', said.removeprefix("Digest ")))
        is_known = found.get("nonce") == self.nonce
        if is_known and self.used < self.uses and found.get("response") == self.response(found, asked):
            self.used += 1
            self.replays += found["nc"] in self.counts
            self.counts.add(found["nc"])
            return Answer(body=body, type="text/plain" if asked.path == "/robots.txt" else "text/html")
        is_stale = bool(said) and self.used >= self.uses
        if not said or is_stale:
            self.count, self.used, self.counts = self.count + 1, 0, set()
        stale = ", stale=true" if is_stale else ""
        challenge = f'Digest realm="r", nonce="{self.nonce}", algorithm={self.algorithm}, qop="auth"{stale}'
        return Answer(401, body="Who are you?", headers={"WWW-Authenticate": challenge})

    def response(self, found: dict[str, str], asked: Asked) -> str:
        hashed = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}[self.algorithm]

        def digest(*parts: str) -> str:
            return hashed(":".join(parts).encode()).hexdigest()

        secret = digest(self.user, "r", TOKEN)
        request = digest(asked.method, found["uri"] if found["uri"] == asked.path else "another page")
        return digest(secret, found["nonce"], found["nc"], found["cnonce"], "auth", request)


@pytest.mark.parametrize(("algorithm", "uses"), [("MD5", 1000), ("SHA-256", 1000), ("SHA-256", 3)])
def test_digest_authentication_takes_a_second_request_only_for_a_new_nonce(
    web: Web, place: Place, algorithm: str, uses: int
) -> None:
    origin = DigestSite(web, algorithm=algorithm, uses=uses)
    site = origin.site
    place.env["T"] = TOKEN
    told = place.comity("crawl", site.url(), "--auth", "digest me env:T")
    assert told.code == 0, told
    assert {url for url, row in place.kept().items() if row["http_status"] == 200} == {
        site.url("/" if number == 0 else f"/p{number}") for number in range(8) if number != 3
    }, "and robots.txt was read with the credentials"
    assert origin.replays == 0
    refused = len(site.log) - 8  # seven pages and robots.txt
    assert refused == (1 if uses == 1000 else 3)
    ledger = place.rows("SELECT status, url FROM politeness_ledger ORDER BY sequence")
    assert len(ledger) == len(site.log), "every request has its row"
    assert len([row for row in ledger if row["status"] == 401]) == refused
    assert place.comity("verify-politeness").code == 0
    assert_nowhere(place.folder, [TOKEN])


def test_wrong_credentials_cost_no_second_request_for_each_page(web: Web, place: Place) -> None:
    origin = DigestSite(web, user="someone else")
    place.env["T"] = TOKEN
    told = place.comity("crawl", origin.site.url(), "--auth", "digest me env:T", "--json")
    assert told.code == 1, told
    assert origin.site.paths.count("/robots.txt") == 2
    assert origin.site.paths.count("/") == 1


def test_a_challenge_of_another_host_is_not_answered(web: Web, place: Place) -> None:
    origin = DigestSite(web)
    other = DigestSite(web)
    origin.site.routes["/p5"] = redirect(other.site.url("/p1"))
    place.env["T"] = TOKEN
    told = place.comity("crawl", origin.site.url(), "--auth", "digest me env:T")
    assert told.code == 0, told
    assert "/p1" in other.site.paths
    assert [seen for seen in other.site.log if "authorization" in seen.headers] == []


def test_hosts_keep_their_proxies(web: Web, place: Place) -> None:
    hosts = [f"h{number}.test" for number in range(6)]
    sites = {host: web.site({"/": page("/a"), "/a": page()}) for host in hosts}
    places = {f"{host}:80": ("127.0.0.1", site.port) for host, site in sites.items()}
    nowhere = ("127.0.0.1", 4)
    with (
        LoopbackProxy(nowhere, "socks5h", ("me", PASSWORD), names=places) as one,
        LoopbackProxy(nowhere, "socks5h", ("me", PASSWORD), names=places) as two,
    ):
        place.env["P"] = PASSWORD
        list_of_proxies = place.folder.parent / f"{place.folder.name}-proxies.txt"
        both = [url.url.replace("://", "://me:env:P@") for url in (one, two)]
        list_of_proxies.write_text("# ours\n" + "\n".join(both) + "\n")
        for options in (("--proxy", both[0], "--proxy", both[1]), ("--proxy", f"file:{list_of_proxies}", "--refresh")):
            told = place.comity("crawl", *(f"http://{host}/" for host in hosts), *options)
            assert told.code == 0, told
            for host in hosts:
                chosen = sticky_proxy([Proxy(one.url, "me"), Proxy(two.url, "me")], host)
                asked = {proxy.url for proxy in (one, two) if f"{host}:80" in proxy.asked}
                assert chosen is not None
                assert asked == {chosen.url}, host
            one.asked.clear()
            two.asked.clear()
    assert_nowhere(place.folder, [PASSWORD])


def test_a_dead_proxy_is_not_the_sites_fault(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": page()})
    told = place.comity("crawl", site.url(), "--proxy", DEAD, "--retries", 1, "--json")
    (line,) = told.json["summary"]["hosts"]
    assert (told.code, line["code"], line["status"], line["queued"]) == (1, "proxy_failure", "active", 1)
    assert site.log == []
    assert place.host(site.host)["consecutive_error_count"] == 0
    tries = place.rows("SELECT url FROM politeness_ledger")
    assert len(tries) == 2, "bounded retries"
    assert place.comity("crawl", site.url()).code == 0
    assert site.pages() == ["/", "/a"]


def test_a_name_is_looked_up_again_between_two_requests(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a host waits for a delay, its next visit begins outside any task, and still can wait for the resolver."""

    async def look_up(_host: str) -> list[str]:
        await asyncio.sleep(0)
        raise OSError("no such name here")

    monkeypatch.setattr("comity.fetch.fetcher.ProxiedNames", partial(ProxiedNames, look_up=look_up, kept_s=0.0))
    site = web.site({"/": page("/1", "/2"), "/1": page(), "/2": page()})
    with LoopbackProxy(("127.0.0.1", site.port), "socks5h") as proxy:
        seeds = ("http://site.test/", "http://other.test/", "http://third.test/")
        told = place.comity("crawl", *seeds, "--proxy", proxy.url, "--delay", 0.05, "--json")
    assert told.code == 0, told
    assert told.json["summary"]["pages"] == 9


def test_a_proxy_that_dies_in_the_middle_leaves_the_rest_queued(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b", "/c"), "/a": page(), "/b": page(), "/c": page()})
    with LoopbackProxy(("127.0.0.1", site.port), "socks5h") as proxy:
        url = proxy.url
        site.routes["/robots.txt"] = Answer(body="User-agent: *\n", type="text/plain")
        assert place.comity("crawl", site.url(), "--proxy", url, "--max-pages", 2).code == 0
    summary = place.crawl(site.url(), proxy=(url,), retries=0)
    line = line_of(summary, site.host)
    assert (line.code, line.status, line.queued) == ("proxy_failure", "active", 2)
    assert [fault.code for fault in summary.faults] == ["proxy_failure"]
    assert place.comity("crawl", site.url()).code == 0
    assert len(place.kept()) == 4


def test_a_policy_sends_its_own_and_stores_references_only(web: Web, place: Place) -> None:
    site, other = (web.site({"/": page("/a"), "/a": page()}) for _ in range(2))
    place.env |= {"S": HEADER, "T": TOKEN}
    told = place.comity("policy", "set", site.url(), "--header", "X-Secret: env:S", "--auth", "bearer env:T")
    assert told.code == 0, told
    assert "X-Secret: env:S" in told.out
    place.comity("policy", "set", site.host, "--min-request-interval-ms", 0)
    assert place.comity("crawl", site.url(), other.url()).code == 0
    assert {(seen.headers.get("x-secret"), seen.headers.get("authorization")) for seen in site.log} == {
        (HEADER, f"Bearer {TOKEN}")
    }
    assert {seen.headers.get("x-secret") for seen in other.log} == {None}
    assert_nowhere(place.folder, [HEADER, TOKEN])
    del place.env["T"]
    site.log.clear()
    told = place.comity("crawl", site.url(), "--refresh", "--json")
    (line,) = told.json["summary"]["hosts"]
    assert (line["code"], line["status"]) == ("credentials_missing", "active")
    assert "the environment variable T is not set" in line["reason"]
    assert site.log == [], "nothing is asked without what the operator wants sent"


def test_a_worker_logs_in_as_the_policy_of_a_host_says(web: Web, place: Place) -> None:
    site = behind_login(web, pages=6)
    log_in = login_options(place, site)
    assert place.comity("policy", "set", site.url(), *log_in, "--min-request-interval-ms", 0).code == 0
    assert place.comity("seeds", "add", site.url()).code == 0
    told = place.comity_apart("work", "--idle-exit", "--processes", 2, "--json")
    assert told.code == 0, told
    assert len([row for row in place.parts() if row["http_status"] == 200]) == 6
    assert [seen.path for seen in site.log if seen.method == "POST"] == ["/login?next=/"]
    assert_nowhere(place.folder, [PASSWORD, SESSION])
    assert PASSWORD not in told.out + told.err


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize(
    "option",
    [
        ("--header", "X-Secret: s3cret-value"),
        ("--cookie", "a=s3cret-value"),
        ("--auth", "basic me s3cret-value"),
        ("--proxy", "http://me:s3cret-value@proxy:3128"),
        ("--header", "other.example: X-Secret: env:S"),
    ],
)
def test_a_policy_takes_no_secret_in_clear(place: Place, option: tuple[str, str]) -> None:
    told = place.comity("policy", "set", "example.com", *option)
    assert (told.code, "s3cret-value" in told.out + told.err) == (2, False)
    assert told.err.startswith(f"comity: {option[0]}: ")
    assert not place.state.exists()


def test_secrets_are_on_no_disk_in_no_output_and_on_no_command_line(web: Web, place: Place) -> None:
    looked = threading.Event()  # at the command lines
    place.env[INTERPRETED] = "1"  # the command lines that users have
    one = behind_login(web, pages=16, robots="User-agent: *\nCrawl-delay: 0.1\n")
    two = web.site(
        {
            "/": Answer(body=page("/a", "/b"), headers={"Set-Cookie": "own=set-by-site"}),
            "/a": page(),
            "/b": Answer(body=page(), held=looked),  # no crawl ends before
        },
        robots="User-agent: *\nCrawl-delay: 0.5\n",
    )
    secrets = place.folder.parent / f"{place.folder.name}-secrets"
    log_in = login_options(place, one)
    (secrets / "cookies.txt").write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tfiled\t{COOKIE}\n")
    place.env |= {"S": HEADER, "T": TOKEN, "P": "proxy-s3cret"}
    needles = [HEADER, COOKIE, TOKEN, "proxy-s3cret", PASSWORD, "pa55-word%26secret", SESSION, "set-by-site"]
    needles.append(base64.b64encode(f"me:{TOKEN}".encode()).decode())
    needles += [base64.b64encode(f"me:{PASSWORD}".encode()).decode()]
    with LoopbackProxy(("127.0.0.1", 4), "socks5h", ("me", "proxy-s3cret")) as proxy:
        proxy.names = {site.host: ("127.0.0.1", site.port) for site in (one, two)}
        for target, more in (("pages", ()), ("pages.warc", ("--refresh",)), ("pages.jsonl", ("--refresh",))):
            arguments = (
                *("crawl", one.url(), two.url(), *log_in, "--processes", 2, "--into", place.folder / target, "-v"),
                *("--header", f"{two.url().rstrip('/')}: X-Secret: env:S", "--cookies", secrets / "cookies.txt"),
                *("--auth", f"{two.url().rstrip('/')}: basic me env:T", *more),
                *("--proxy", proxy.url.replace("://", "://me:env:P@")),
            )
            seen_before = len(one.log)
            looked.clear()
            with place.begun(*arguments) as process:
                wait_until(lambda: len(one.log) > seen_before + 5, 60, "requests")  # noqa: B023
                lines = command_lines()
                assert len([line for line in lines if b"comity.run.child_process" in line]) >= 2
                assert [each for each in needles for line in lines if each.encode() in line] == []
                looked.set()
                code = process.wait(60)
                output = process.out + process.err
            assert code == 0, output
            assert [each for each in needles if each in output] == []
    assert {seen.headers.get("cookie", "").startswith("filed=") for seen in two.log} == {True}
    assert len([seen for seen in one.log if seen.method == "POST"]) == 3
    assert_nowhere(place.folder, needles)
    assert [each for each in needles if each in repr(place.parts())] == [], "also inside of compressed parts"


def command_lines() -> list[bytes]:
    """The command line of every process that can be seen."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                found.append((folder / "cmdline").read_bytes())
            except OSError:
                continue
    return found


def assert_nowhere(folder: Path, secrets: list[str], besides: Path | None = None) -> None:
    """No file has one of the secrets."""
    files = [path for path in folder.rglob("*") if path.is_file() and path != besides]
    assert files
    for path in files:
        data = path.read_bytes()
        assert [each for each in secrets if each.encode() in data] == [], path


@pytest.mark.parametrize("is_shared", [False, True])
def test_patterns_of_a_policy_leave_its_login_alone(
    request: pytest.FixtureRequest, web: Web, place: Place, is_shared: bool
) -> None:
    """The login is how the site is asked, not a page of it; also after a link that ends the session."""
    if is_shared:
        place.env |= {"COMITY_DATABASE_URL": request.getfixturevalue("migrated_postgres_url")}
    site = behind_login(web, pages=8, has_logout=True)
    options = (*login_options(place, site), "--exclude", "/login", "--exclude", "/p5", "--include", "/p*")
    told = place.comity("policy", "set", site.url(), *options, "--min-request-interval-ms", 0, "--json")
    assert told.code == 0, told
    shown = place.comity("policy", "show", site.host, "--json").json
    assert shown == told.json
    assert place.comity("seeds", "add", site.url()).code == 0
    assert place.comity_apart("work", "--idle-exit").code == 0
    rows = [row["url"] for row in place.parts() if row["http_status"] == 200]
    assert sorted(rows) == sorted(site.url(path) for path in ("/", "/p1", "/p2", "/p3", "/p4", "/p6", "/p7"))
    assert not site.of("/p5")
    assert place.comity("why", site.url("/p5"), "--json").json["code"] == "left_out"
