"""The first contact with a host: which scheme is tried, what is remembered, and what lifts a cooldown at once."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from tests.walk.crawling import DONE, Place, line_of
from tests.walk.site import Answer, Web, page, tree

CERTIFICATES = Path(__file__).parents[1] / "hostile" / "certificates"
HUNG_UP, REFUSED_BY_TLS = b"", bytes.fromhex("15030300020228")  # the alert "handshake failure"


@contextmanager
def one_port(plain: Web, routes: dict[str, object], tls_answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A port that answers http like a site, and the first octets of TLS in a way of its own; gives port and hellos."""
    site = plain.site(routes)  # type: ignore[arg-type]
    hellos: list[bytes] = []
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            if first == b"\x16":
                hellos.append(first)
                writer.write(tls_answer)
                await writer.drain()
                writer.close()
                return
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", site.port)
            to_writer.write(first)

            async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                with suppress(ConnectionError):
                    while data := await source.read(65536):
                        sink.write(data)
                        await sink.drain()
                sink.close()

            await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))

    ready = threading.Event()
    port: list[int] = []

    async def serve() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    task = loop.create_task(serve())

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield port[0], hellos
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(60)
        loop.close()


NOT_TLS = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("answer", [NOT_TLS, HUNG_UP])
def test_a_bare_host_without_https_is_crawled_by_http_and_remembered(web: Web, place: Place, answer: bytes) -> None:
    with one_port(web, dict(tree(3)), answer) as (port, hellos):
        host = f"127.0.0.1:{port}"
        summary = place.crawl(host)
        assert summary.pages == 3
        assert summary.refused == 0
        assert line_of(summary, host).status == "exhausted"
        assert len(hellos) == 1, "robots.txt by https, once"
        assert set(place.frontier(host)) == {f"https://{host}/"} | {
            f"http://{host}{path}" for path in ("/", "/p1", "/p2")
        }
        (found,) = place.evidence(f"https://{host}/")
        assert found["type"] == "no_https"
        assert f"http://{host}/ is visited instead" in found["content"]["reason"]
        assert place.crawl(host).pages == 0
        assert len(hellos) == 1, "nothing is tried again"
        assert place.comity("crawl", host, "--refresh").code == 0
        assert place.host(host)["status"] == "exhausted"


def test_a_path_without_a_scheme_is_tried_both_ways_too(web: Web, place: Place) -> None:
    with one_port(web, {"/jobs": page(title="jobs")}, NOT_TLS) as (port, _hellos):
        summary = place.crawl(f"127.0.0.1:{port}/jobs")
        assert summary.pages == 1
        assert f"http://127.0.0.1:{port}/jobs" in place.kept()


def test_a_port_on_which_nobody_listens_is_unreachable_by_both(web: Web, place: Place) -> None:
    site = web.site({})
    free = site.port + 1 if site.port < 65_000 else site.port - 1
    host = f"127.0.0.3:{free}"
    summary = place.crawl(host)
    assert summary.pages == 0
    assert line_of(summary, host).status == "unreachable"
    tried = {row["url"] for row in place.rows("SELECT url FROM politeness_ledger")}
    assert tried == {f"https://{host}/robots.txt", f"http://{host}/robots.txt"}


def test_https_that_answers_anything_is_not_replaced(web: Web, place: Place) -> None:
    """An alert is TLS: whoever could force http by spoiling a handshake gains nothing."""
    with one_port(web, {"/": page()}, REFUSED_BY_TLS) as (port, hellos):
        host = f"127.0.0.1:{port}"
        summary = place.crawl(host, within_s=60)
        assert (summary.pages, line_of(summary, host).status) == (0, "unreachable")
        assert len(hellos) == 3
        assert set(place.frontier(host)) == {f"https://{host}/"}


def test_a_refused_certificate_is_https_and_not_replaced(web: Web, place: Place) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "expired.pem", CERTIFICATES / "expired.key")
    hidden = web.site({"/": page()}, certificate=context)
    summary = place.crawl(hidden.host)
    assert (summary.pages, line_of(summary, hidden.host).status) == (0, "unreachable")
    assert "certificate_refused" in (line_of(summary, hidden.host).reason or "")
    assert set(place.frontier(hidden.host)) == {f"https://{hidden.host}/"}


def test_https_that_was_asked_for_is_not_replaced(web: Web, place: Place) -> None:
    with one_port(web, {"/": page()}, NOT_TLS) as (port, hellos):
        host = f"127.0.0.1:{port}"
        summary = place.crawl(f"https://{host}/", within_s=60)
        assert (summary.pages, line_of(summary, host).status) == (0, "unreachable")
        assert len(hellos) == 3
        assert place.crawl(f"https://{host}/other").pages == 0, "another page of the same origin lifts nothing"
        assert len(hellos) == 3
        # The other scheme does, at once, and then there is nothing to wait for on https.
        summary = place.crawl(f"http://{host}/")
        assert summary.pages == 1
        assert place.frontier(host)[f"http://{host}/"] == DONE


def test_naming_http_lifts_the_cooldown_on_each_database(bureau: object) -> None:
    office = bureau
    database, clock = office.state.database, office.state.clock  # type: ignore[attr-defined]
    from comity.database import hosts, robots

    add_seeds(database, clock, [read_seed("https://asleep.example/")])
    with database.write() as connection:
        row = hosts.get(connection, "asleep.example")
        assert row is not None
        hosts.change(connection, row.id, {"status": "active"})
        hosts.change(
            connection, row.id, {"status": "unreachable", "block_reason_code": "connection_failure", "claimed_by": None}
        )
        robots.put(
            connection,
            {
                "origin": "https://asleep.example",
                "host": "asleep.example",
                "fetched_at": clock.now(),
                "expires_at": clock.now(),
                "access": "disallow_all",
            },
        )

    def status() -> str:
        with database.read() as connection:
            row = hosts.get(connection, "asleep.example")
            assert row is not None
            return str(row.status)

    add_seeds(database, clock, [read_seed("asleep.example"), read_seed("https://asleep.example/x")])
    assert status() == "unreachable"
    add_seeds(database, clock, [read_seed("http://asleep.example/")])
    assert status() == "pending"


def test_a_seed_that_robots_txt_allows_is_read_where_the_root_was_forbidden(web: Web, place: Place) -> None:
    site = web.site(
        {"/": page("/open/"), "/open/": page("/open/a", "/"), "/open/a": page()},
        robots="User-agent: *\nDisallow: /\nAllow: /open/\n",
    )
    summary = place.crawl(site.url("/"))
    assert (summary.pages, summary.code, place.host(site.host)["status"]) == (0, "robots_denied", "blocked")
    assert place.crawl(site.url("/")).pages == 0, "the same seed lifts nothing"
    assert place.crawl(site.url("/closed")).pages == 0, "nor does another one that is forbidden"
    assert place.host(site.host)["status"] == "blocked"
    assert place.crawl(site.url("/open/")).pages == 2
    assert set(site.paths) == {"/robots.txt", "/open/", "/open/a"}


@pytest.mark.parametrize("is_gzipped", [False, True], ids=["plain", "gzip"])
def test_of_an_overlong_robots_txt_the_beginning_holds(web: Web, place: Place, is_gzipped: bool) -> None:
    rules = "User-agent: *\nDisallow: /private/\n" + "# a comment\n" * 100_000  # more than twice what is read
    robots = Answer(body=rules, type="text/plain", is_gzipped=is_gzipped)
    site = web.site({"/": page("/a", "/private/b"), "/a": page(), "/robots.txt": robots}, robots=None)
    long = {f"{name}_timeout_s": 300.0 for name in ("connect", "first_byte", "idle", "fetch")}
    assert place.crawl(site.url("/"), **long).pages == 2
    assert set(site.paths) == {"/robots.txt", "/", "/a"}


def test_a_private_address_names_the_option_and_the_option_lifts_it_at_once(web: Web, place: Place) -> None:
    site = web.site(tree(2), address="127.0.0.2")
    place.env["COMITY_ALLOW_NETWORKS"] = ""
    told = place.comity("crawl", site.url())
    assert "--allow-network 127.0.0.2/32" in told.out + told.err
    assert (place.host(site.host)["status"], place.host(site.host)["block_reason_code"]) == (
        "unreachable",
        "address_refused",
    )
    told = place.comity("crawl", site.url(), "--allow-network", "127.0.0.3/32")
    assert place.host(site.host)["status"] == "unreachable", "another network changes nothing"
    assert site.log == []
    told = place.comity("crawl", site.url(), "--allow-network", "127.0.0.0/8", "--json")
    assert told.json["summary"]["pages"] == 2
    assert site.pages() == ["/", "/p1"]


@pytest.mark.parametrize(
    ("text", "url", "guessed"),
    [
        ("example.com", None, False),
        ("Example.com/", None, False),
        ("example.com:8080", None, False),
        ("www.example.com", "https://www.example.com/", True),
        ("example.com/a?b=http://c/", "https://example.com/a?b=http://c/", True),
        ("example.com?q=1", "https://example.com/?q=1", True),
        ("https://example.com", "https://example.com/", False),
        ("http://www.example.com/x", "http://www.example.com/x", False),
    ],
)
def test_a_seed_keeps_the_name_that_was_typed(text: str, url: str | None, guessed: bool) -> None:
    seed = read_seed(text)
    assert (seed.url, seed.is_scheme_guessed) == (url, guessed)


def test_a_redirect_of_robots_txt_that_cannot_be_followed_is_decided_and_told(web: Web, place: Place) -> None:
    """To no web address: there is no file. To an address that we do not ask: its rules are unread, nothing is asked."""
    nowhere = web.site(tree(2), robots=Answer(302, headers={"Location": "ftp://127.0.0.1/robots.txt"}))
    hidden = web.site({}, address="127.0.0.2")
    private = web.site(tree(2), robots=Answer(302, headers={"Location": hidden.url("/robots.txt")}))
    summary = place.crawl(nowhere.url(), private.url(), allow_networks=("127.0.0.1/32",))
    assert line_of(summary, nowhere.host).pages == 2
    assert private.pages() == []
    assert hidden.log == []
    (row,) = place.rows("SELECT detail FROM robots_cache WHERE host = ?", private.host)
    assert f"it redirects to {hidden.url('/robots.txt')}" in row["detail"]
    assert "--allow-network 127.0.0.2/32" in row["detail"]
    (row,) = place.rows("SELECT detail FROM robots_cache WHERE host = ?", nowhere.host)
    assert "'ftp://127.0.0.1/robots.txt', which is not an http or https URL" in row["detail"]
