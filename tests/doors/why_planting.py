"""Sites on which the causes of `why_causes` are planted, a few on each; crawls that meet them."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from comity.assemble import State
from comity.leases.leases import Leases
from comity.walk.crawl.crawl import Crawl
from tests.doors.why_causes import Plant, Planted
from tests.hostile.web import HostileWeb
from tests.servers.ports import closed_port
from tests.walk.crawling import until
from tests.walk.pictures import png
from tests.walk.site import Answer, Site, page, redirect, tree
from tests.walk.sourcing import Office, jobs, listing

NOFOLLOW = '<meta name="robots" content="nofollow">'
NOINDEX = '<meta name="robots" content="noindex">'
PAST = '<meta name="robots" content="unavailable_after: 2020-01-01">'
LOGIN = page("/login", title="Sign in", body='<form><input type="password" name="p"></form>')


def stop_after(site: Site, paths: set[str], loops: int = 0) -> Callable[[Crawl, State], Awaitable[None]]:
    """Stop a crawl when everything was asked for once: what is to be tried again then waits."""

    def is_at_rest(crawl: Crawl) -> bool:
        """Whether the loop was followed and no visit is under way, at this host or at one that it redirects to."""
        return len(site.of("/loop")) >= loops and not any(
            host.visits_under_way for host in crawl.session.held.crawled.values()
        )

    async def stop(crawl: Crawl, _state: State) -> None:
        await until(lambda: paths <= set(site.paths) and (not loops or is_at_rest(crawl)), 40.0)
        crawl.stop()

    return stop


def visited(planted: Planted) -> None:
    """Pages that came, and answers that are none."""
    site = planted.web.site(
        {
            "/": page(
                *[
                    "/a",
                    "/nf",
                    "/meta",
                    "/header",
                    "/past",
                    "/door",
                    "/account",
                    "/copy",
                    "/copied",
                    "/refresh",
                    "/wants",
                ]
            )
            + page(*["/gone", "/left", "/secret", "/no", "/teapot", "/big", "/pdf", "/bomb", "/coded"]),
            "/a": page(),
            "/nf": page(head=NOFOLLOW),
            "/meta": page(head=NOINDEX),
            "/header": Answer(body=page(), headers={"X-Robots-Tag": "noindex"}),
            "/past": page(head=PAST),
            "/door": LOGIN,
            "/account": redirect("/login"),
            "/login": LOGIN,
            "/copy": page(head='<link rel="canonical" href="/page">'),
            "/page": page(),
            "/copied": page(head='<link rel="canonical" href="https://elsewhere.example/original">'),
            "/refresh": page(head='<meta http-equiv="refresh" content="0; url=/refreshed">'),
            "/refreshed": page(),
            "/left": Answer(410),
            "/secret": Answer(401),
            "/no": Answer(403),
            "/teapot": Answer(418),
            "/big": Answer(body=page(body="x" * 300_000)),
            "/pdf": Answer(body="%PDF-1.4", type="application/pdf"),
            "/bomb": Answer(body=gzip.compress(b"\0" * 1_000_000), headers={"Content-Encoding": "gzip"}),
            "/coded": Answer(body="this is not gzip", headers={"Content-Encoding": "gzip"}),
        }
    )
    planted.crawl(site.url(), max_response_bytes=200_000, max_domain_errors=100)
    planted.ask_all(
        site,
        seed="/",
        fetched="/a",
        fragment="/a#part",
        nofollow_page_itself="/nf",
        noindex_meta="/meta",
        noindex_header="/header",
        unavailable_after="/past",
        login_wall="/door",
        login_redirect="/account",
        canonical="/copy",
        canonical_off_site="/copied",
        canonical_target="https://elsewhere.example/original",
        meta_refresh="/refreshed",
        http_404="/gone",
        http_410="/left",
        http_401="/secret",
        http_403="/no",
        http_418="/teapot",
        too_large="/big",
        wrong_type="/pdf",
        bomb="/bomb",
        bad_encoding="/coded",
        folded_query="/a?",
        folded="/a?utm_source=letter",
        folded_session="/a;jsessionid=0123456789",
        other_spelling="/a/",
        never_found="/nowhere",
        images_off="/logo.png",
        asset="/style.css",
        robots_file="/robots.txt",
    )
    planted.place.comity("domains", "reset", site.host)
    planted.ask_all(site, queued_again="/a")


def refreshed(planted: Planted) -> None:
    site = planted.web.site({"/": Answer(body=page(), etag='"1"')})
    planted.crawl(site.url())
    told = planted.place.comity("crawl", site.url(), "--refresh")
    assert told.code == 0, told.err
    planted.ask_all(site, not_modified="/")


def failing(planted: Planted) -> None:
    """What is tried again: once, and after it was given up."""
    cut = Answer(drops=True)
    broken = {"/five": Answer(500), "/three": Answer(503), "/cut": cut, "/flood": Answer(headers={"X": "a" * 80_000})}
    site = planted.web.site({"/": page(*broken, "/odd", "/slow"), "/slow": Answer(after_s=30.0)} | broken)
    site.routes["/odd"] = Answer(99)
    asked = {"/", *broken, "/odd", "/slow"}
    planted.crawl(site.url(), meanwhile=stop_after(site, asked), max_domain_errors=100, fetch_timeout_s=2.0, per_host=8)
    planted.ask_all(site, http_500_again="/five", reset_again="/cut", header_flood="/flood")
    planted.execute("UPDATE domain_frontier SET attempts = 5, not_before = NULL WHERE state = 0")
    planted.crawl(site.url(), max_domain_errors=100, fetch_timeout_s=2.0, per_host=8)
    planted.ask_all(site, http_500="/five", http_503="/three", reset="/cut", protocol_error="/odd", slow="/slow")


def asked_to_wait(planted: Planted) -> None:
    site = planted.web.site({"/": page("/a", "/b"), "/a": Answer(429, headers={"Retry-After": "900"})})
    planted.crawl(site.url())
    planted.ask_all(site, http_429="/a", host_blocked="/b")


def too_large_for_its_policy(planted: Planted) -> None:
    site = planted.web.site({"/": page("/big"), "/big": page(body="x" * 5000)})
    planted.place.comity("policy", "set", site.host, "--max-kb-per-page", 1, "--min-request-interval-ms", 0)
    planted.crawl(site.url())
    planted.ask_all(site, too_large_policy="/big")


@contextmanager
def speaks_no_tls() -> Iterator[str]:
    """The https:// address of a server that answers every connection in plain text, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, _address = server.accept()
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)


def unreachable(planted: Planted) -> None:
    """No way to the host, or none that is taken."""
    closed = f"http://127.0.0.1:{closed_port()}/"
    dark = "http://no-such-host.invalid/"
    with HostileWeb(certificate="expired") as expired, speaks_no_tls() as no_tls:
        planted.crawl(closed, dark, no_tls, expired.url("/"), max_domain_errors=1)
        planted.ask("certificate", expired.url("/"))
    for name, url in (("refused", closed), ("dns", dark), ("tls", no_tls)):
        planted.ask(name, url)
    hidden = planted.web.site({"/": page()}, address="127.0.0.2")
    planted.crawl(hidden.url(), allow_networks=("127.0.0.1/32",))
    planted.ask_all(hidden, private="/")


def redirected(planted: Planted) -> None:
    other = planted.web.site({"/x": page()})
    hidden = planted.web.site({"/": page()}, address="127.0.0.2")
    held = planted.web.site({"/x": page()}, address="127.0.0.1")
    site = planted.web.site(
        {
            "/": page("/old", "/off", "/loop", "/in", "/closed", "/down", "/mail", "/busy"),
            "/old": redirect("/moved"),
            "/moved": page(),
            "/off": redirect(other.url("/x")),
            "/loop": redirect("/loop"),
            "/in": redirect(hidden.url("/")),
            "/closed": redirect("/private/x"),
            "/down": redirect("/taken"),
            "/mail": redirect("mailto:a@example.org"),
            "/busy": redirect(held.url("/x")),
        },
        robots="User-agent: *\nDisallow: /private/\n",
    )
    planted.place.comity("takedown", "add", site.url("/taken"))
    with planted.opened() as state:
        # Held by another worker from before the crawl to after it.
        planted.place.comity("seeds", "add", held.url())
        (_lease,) = Leases(state.database, state.clock, holder="worker:elsewhere:0:0").take([held.host])
        asked = {"/", "/old", "/moved", "/off", "/loop", "/in", "/closed", "/down", "/mail", "/busy"}
        planted.crawl(site.url(), meanwhile=stop_after(site, asked, 6), allow_networks=("127.0.0.1/32",), per_host=9)
    # What is put off for two seconds would be due again between two looks.
    put_off = "UPDATE domain_frontier SET not_before = '2099-01-01 00:00:00.000000' WHERE state = 0"
    planted.execute(f"{put_off} AND not_before IS NOT NULL")
    planted.ask_all(
        site,
        redirect="/old",
        redirect_target="/moved",
        redirect_off_site="/off",
        redirect_loop="/loop",
        redirect_private="/in",
        redirect_private_target=hidden.url("/"),
        redirect_robots="/closed",
        redirect_takedown="/down",
        redirect_mailto="/mail",
        redirect_busy="/busy",
    )
    planted.ask("redirect_off_site_target", other.url("/x"))
    planted.ask("not_seeded", other.url("/new"))


def left(planted: Planted) -> None:
    """Links that are seen and not followed."""
    other = planted.web.site({})
    deep = "/loop/a/loop/a/loop/a/loop/a/loop/a/loop/a"
    site = planted.web.site(
        {
            "/": page(
                "/nf", "/header", "https://elsewhere.example/x", other.url("/y"), "/private/x", "/was", deep,
                body='<a rel="nofollow" href="/marked">m</a>',
            ),
            "/nf": page("/behind", head=NOFOLLOW),
            "/header": Answer(body=page("/behind-header"), headers={"X-Robots-Tag": "nofollow"}),
        },
        robots="User-agent: *\nDisallow: /private/\n",
    )  # fmt: skip
    planted.place.comity("takedown", "add", site.url("/was"))
    planted.crawl(site.url())
    planted.place.comity("takedown", "remove", site.url("/was"))
    planted.ask_all(
        site,
        nofollow_link="/marked",
        nofollow_meta="/behind",
        nofollow_header="/behind-header",
        other_host="https://elsewhere.example/x",
        other_port=other.url("/y"),
        robots_link="/private/x",
        trap=deep,
        was_taken_down="/was",
    )
    site.routes["/robots.txt"] = Answer(404)
    planted.execute("DELETE FROM robots_cache WHERE host = :host", host=site.host)
    planted.place.comity("robots", site.url())
    planted.ask_all(site, robots_then="/private/x")


def bounded(planted: Planted) -> None:
    """What the settings of a run leave."""
    site = planted.web.site({"/": page("/a"), "/a": page("/a/b"), "/a/b": page()})
    planted.crawl(site.url(), max_depth=1)
    planted.ask_all(site, too_deep="/a/b")
    site = planted.web.site({"/": page("/a", head='<link rel="canonical" href="/own">')})
    planted.crawl(site.url(), follow_links=False, follow_canonical=False)
    planted.ask_all(site, links_off="/a", canonical_off="/own")
    site = planted.web.site(tree(9))
    planted.crawl(site.url(), max_pages=2)
    planted.ask_all(site, budget="/p3")
    planted.execute("DELETE FROM evidence WHERE type = 'budget'")
    planted.ask_all(site, queued="/p3")
    with planted.opened() as state:
        (lease,) = Leases(state.database, state.clock, holder="worker:elsewhere:0:0").take([site.host])
        planted.ask_all(site, lease="/p3", lease_unseen="/never")
        Leases(state.database, state.clock, holder="worker:elsewhere:0:0").release(lease)
    planted.execute("UPDATE domains SET next_crawl_after = '2099-01-01 00:00:00' WHERE domain = :host", host=site.host)
    planted.ask_all(site, not_due="/p3")
    paused = "UPDATE domains SET next_crawl_after = NULL, paused_by_run = last_crawl_run_id WHERE domain = :host"
    planted.execute(paused, host=site.host)
    planted.ask_all(site, paused="/p3")


def taken_down(planted: Planted) -> None:
    site = planted.web.site({"/": page("/a", "/folder/b"), "/a": page(), "/folder/b": page()})
    planted.crawl(site.url())
    planted.place.comity("takedown", "add", site.url("/a"), site.url("/folder"))
    planted.ask_all(site, taken_down="/a", taken_down_below="/folder/b")
    planted.place.comity("takedown", "add", site.host)
    planted.ask_all(site, taken_down_host="/")


def listed(planted: Planted) -> None:
    """Sitemaps and images."""
    entries = ("{own}/only", "{own}/private/y", "https://elsewhere.example/listed", "{own}/", "{own}/only?x=1")
    site = planted.web.site({"/": page(), "/only": page()})
    body = "".join(f"<url><loc>{each.format(own=site.url()[:-1])}</loc></url>" for each in entries)
    site.routes["/map.xml"] = Answer(body=f"<urlset>{body}</urlset>", type="application/xml")
    lines = ("User-agent: *", "Disallow: /private/", "/map.xml", "/private/map.xml", "/no-map.xml")
    robots = "\n".join(line if ":" in line else f"Sitemap: {site.url(line)}" for line in lines)
    site.routes["/robots.txt"] = Answer(body=robots, type="text/plain")
    planted.crawl(site.url(), sitemaps=True)
    planted.ask_all(
        site,
        sitemap_only="/only",
        robots_sitemap="/private/y",
        sitemap_other_host="https://elsewhere.example/listed",
        sitemap="/map.xml",
        sitemap_robots="/private/map.xml",
        sitemap_missing="/no-map.xml",
    )
    shown = '<img src="/a.png"><img src="/lost.png"><img src="https://elsewhere.example/b.png">'
    site = planted.web.site({"/": page(body=shown), "/a.png": Answer(body=png(), type="image/png")})
    planted.crawl(site.url(), images=True)
    planted.ask_all(site, image="/a.png", image_missing="/lost.png", image_other_host="https://elsewhere.example/b.png")


def hosts(planted: Planted) -> None:
    """Whole hosts that are left alone, or wait."""
    site = planted.web.site({"/": page()}, fallback=Answer(403))
    site.routes["/"] = Answer(403)
    planted.crawl(site.url())
    planted.ask_all(site, cooldown="/", cooldown_unseen="/anything")
    planted.execute("UPDATE domains SET next_crawl_after = NULL WHERE domain = :host", host=site.host)
    planted.ask_all(site, permanent_block="/")
    site = planted.web.site({"/": page(*(f"/{number}" for number in range(9)))}, fallback=Answer(403))
    planted.crawl(site.url(), max_domain_errors=3)
    planted.ask_all(site, cooldown_fetched="/")
    site = planted.web.site({"/": page()}, robots="User-agent: *\nDisallow: /\n")
    planted.crawl(site.url())
    planted.ask_all(site, robots_all="/")
    site = planted.web.site({"/": page()}, robots=lambda asked: Answer(500))
    planted.crawl(site.url())
    planted.ask_all(site, robots_unreadable="/")
    site = planted.web.site({"/": page("/a")}, robots="User-agent: *\nCrawl-delay: 3000\n")
    planted.crawl(site.url(), max_minutes=0.03)
    planted.execute("DELETE FROM evidence WHERE type = 'budget'")
    planted.ask_all(site, crawl_delay="/")
    planted.ask("unknown_host", "https://nowhere.example/x")
    planted.place.comity("seeds", "add", "waiting.example")
    planted.ask("pending", "https://waiting.example/page")


def renamed(planted: Planted) -> None:
    """Hosts that are one under today's naming rules."""
    planted.place.comity("seeds", "add", "https://www.merged.example/x")
    planted.execute("UPDATE domains SET domain = 'www.merged.example' WHERE domain = 'merged.example'")
    assert planted.place.comity("domains", "merge").code == 0
    planted.ask("merged", "https://www.merged.example/x")
    planted.place.env["COMITY_COLLAPSE_SUBDOMAINS"] = "true"
    planted.place.comity("seeds", "add", "https://blog.collapsed.example/x")
    planted.ask("collapsed", "https://blog.collapsed.example/x")
    del planted.place.env["COMITY_COLLAPSE_SUBDOMAINS"]


def patterned(planted: Planted) -> None:
    """URLs that patterns leave out."""
    links = ("/private/x", "/other", "/go", "/docs/a.pdf", "/docs/b")
    site = planted.web.site({"/docs/": page(*links), "/go": redirect("/private/y")}, fallback=page())
    planted.place.comity("policy", "set", site.host, "--exclude", "*.pdf", "--min-request-interval-ms", 0)
    planted.place.comity(
        "crawl", site.url("/docs/"), "--include", "/docs/", "--include", "/go", "--exclude", "/private/"
    )
    planted.ask_all(
        site,
        left_out_exclude="/private/x",
        left_out_include="/other",
        left_out_policy="/docs/a.pdf",
        left_out_redirect="/go",
    )
    below = planted.web.site({"/docs/": page("/other")})
    planted.place.comity("crawl", below.url("/docs/"), "--under")
    planted.ask_all(below, left_out_under="/other")


def sources(planted: Planted) -> None:
    site = planted.web.site(
        {"/careers": listing(jobs(3), following="/careers?page=2"), "/careers?page=2": listing(jobs(2, start=9))}
    )
    closed = planted.web.site({"/jobs": listing(jobs(2))}, robots="User-agent: *\nDisallow: /\n")
    with planted.opened(source_delay_s=0.0) as state:
        office = Office(state)
        planted_one = office.add(site.url("/careers"))
        planted.ask_all(site, source_new="/careers")
        office.run(planted_one)
        planted.ask_all(site, source="/careers", source_page="/careers?page=2")
        planted.execute(
            "INSERT INTO crawl_locks (source_id, holder, locked_at) SELECT id, 'worker:elsewhere', CURRENT_TIMESTAMP "
            "FROM sources WHERE careers_url = :url",
            url=site.url("/careers"),
        )
        planted.ask_all(site, source_running="/careers")
        planted.execute("DELETE FROM crawl_locks")
        office.run(office.add(site.url("/lost")))
        planted.ask_all(site, source_failed="/lost")
        office.run(office.add(closed.url("/jobs")))
        planted.ask_all(closed, source_blocked="/jobs")
    planted.place.comity("sources", "pause", site.url("/careers"))
    planted.ask_all(site, source_paused="/careers")
    planted.place.comity("sources", "delete", site.url("/careers"))
    planted.ask_all(site, source_deleted="/careers")


def crawl_jobs(planted: Planted) -> None:
    """A URL of the crawl service, from its policy to the end of its job."""
    site = planted.web.site({"/p/1": page()})
    url = site.url("/p/1")
    planted.place.comity("queue", "policies", "add", url)
    planted.ask_all(site, policy_due="/p/1")
    job = (
        f"INSERT INTO crawl_jobs (id, policy_id, url) SELECT '{_JOB_ID}', id, url FROM crawl_policies WHERE url = :url"
    )
    planted.execute(job, url=url)
    planted.ask_all(site, job_waits="/p/1")
    lock = "UPDATE crawl_jobs SET status = 'locked', locked_by = 'shop-bot', locked_at = CURRENT_TIMESTAMP"
    planted.execute(lock)
    planted.ask_all(site, job_locked="/p/1")
    failed = f"UPDATE crawl_jobs SET status = 'pending', error_msg = 'HTTP 500', not_before = {_FAR}"
    planted.execute(failed)
    planted.ask_all(site, job_postponed="/p/1")
    for statement in ("UPDATE crawl_jobs SET not_before = NULL", lock, "UPDATE crawl_jobs SET status = 'failed'"):
        planted.execute(statement)
    planted.execute(f"UPDATE crawl_policies SET next_run_at = {_FAR}")
    planted.ask_all(site, job_failed="/p/1")
    for statement in ("UPDATE crawl_jobs SET status = 'pending'", lock, "UPDATE crawl_jobs SET status = 'done'"):
        planted.execute(statement)
    planted.ask_all(site, job_done="/p/1")
    planted.place.comity("queue", "policies", "disable", url)
    planted.ask_all(site, policy_disabled="/p/1")


_JOB_ID = "0b8c9a1e5d5f4a539a573f1f8c1d2e3f"
_FAR = "'2096-01-01 00:00:00.000000'"

EVERYTHING: tuple[Plant, ...] = (
    visited,
    refreshed,
    failing,
    asked_to_wait,
    too_large_for_its_policy,
    unreachable,
    redirected,
    left,
    bounded,
    taken_down,
    listed,
    hosts,
    renamed,
    patterned,
    sources,
    crawl_jobs,
)
