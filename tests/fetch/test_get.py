"""One request, one answer: what a well-behaved server gets to see, and what comes back."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from comity.fetch import fetcher as fetcher_module
from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from comity.model.fetch import ContentTypeRules, FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.hostile.bodies import PLAIN
from tests.hostile.statuses import RETRY_KINDS
from tests.hostile.web import Exchange, HostileWeb
from tests.walk.site import Web


def answered(result: Response | FetchFailure) -> Response:
    assert isinstance(result, Response), result
    return result


def failed(result: Response | FetchFailure) -> FetchFailure:
    assert isinstance(result, FetchFailure), result
    return result


async def test_a_page_comes_back_whole_with_its_circumstances(fetcher: CurlFetcher, web: HostileWeb) -> None:
    before = time.time()
    response = answered(await fetcher.get(FetchRequest(web.url("/ok"))))
    assert (response.status, response.body, response.http_version) == (200, PLAIN, "1.1")
    assert response.address == "127.0.0.1"
    assert before <= response.started_at <= time.time()
    assert 0 <= response.sent_s <= response.elapsed_s
    assert response.sent_s <= response.first_byte_s <= response.elapsed_s < 20
    assert response.first_byte_s - response.sent_s < 20
    assert response.wire_bytes == len(PLAIN)
    assert response.content_type == "text/html; charset=utf-8"
    assert (response.content_encoding, response.truncated) == ("", False)


async def test_a_fetcher_is_refused_to_another_thread_while_it_runs(fetcher: CurlFetcher, web: HostileWeb) -> None:
    answered(await fetcher.get(FetchRequest(web.url("/ok"))))
    with pytest.raises(RuntimeError, match="one event loop"):
        await asyncio.to_thread(asyncio.run, fetcher.get(FetchRequest(web.url("/ok"))))
    answered(await fetcher.get(FetchRequest(web.url("/ok"))))


async def test_what_an_answer_waits_for_us_is_not_the_hosts_time(fetcher: CurlFetcher, web: HostileWeb) -> None:
    is_answered = threading.Event()

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(PLAIN)
        is_answered.set()

    def hold_up_the_loop() -> None:
        assert is_answered.wait(30)
        time.sleep(0.2)

    web.add("/answered", answer)
    loop = asyncio.get_running_loop()
    request = FetchRequest(web.url("/answered"))

    def on_sent() -> None:
        loop.call_soon(hold_up_the_loop)

    response = answered(await fetcher.get(request, on_sent))
    assert response.first_byte_s < response.elapsed_s - 0.1


async def test_we_say_who_we_are_and_nothing_more(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(contact="bot@example.org", accept_language="en")
    response = answered(await fetcher.get(FetchRequest(web.url("/echo?a=b"))))
    seen = json.loads(response.body)
    assert seen["path"] == "/echo?a=b"
    assert seen["headers"] == {
        "host": web.authority,
        "user-agent": "test/1.0 (+https://example.org/bot)",
        "from": "bot@example.org",
        "accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
        "accept-language": "en",
        "accept-encoding": "gzip, deflate, br, zstd",
    }


async def test_own_headers_replace_the_defaults_and_are_forgotten_afterwards(
    make_fetcher: MakeFetcher, web: HostileWeb
) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    asked = FetchRequest(web.url("/echo"), headers=(("Accept", "text/plain"), ("X-Empty", ""), ("X-Own", "yes")))
    seen = json.loads(answered(await fetcher.get(asked)).body)["headers"]
    assert (seen["accept"], seen["x-own"]) == ("text/plain", "yes")
    plain = json.loads(answered(await fetcher.get(FetchRequest(web.url("/echo")))).body)["headers"]
    assert plain["accept"].startswith("text/html")
    assert "x-own" not in plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Split", "a\r\nX-Injected: yes"),
        ("X-Feed", "a\nb"),
        ("X-Nul", "a\0b"),
        ("X Space", "a"),
        ("X-Colon:", "a"),
        ("", "a"),
        ("X-Wide", "price €5"),
        ("Host", "elsewhere.example"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "close"),
    ],
)
async def test_a_header_that_would_break_the_request_is_never_sent(
    fetcher: CurlFetcher, web: HostileWeb, name: str, value: str
) -> None:
    failure = failed(await fetcher.get(FetchRequest(web.url("/ok"), headers=((name, value),))))
    assert failure.kind is FailureKind.INVALID_HEADER
    assert failure.kind.is_refusal
    assert web.log.arrivals == []
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).status == 200


async def test_head_asks_without_taking_a_body(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    response = answered(await fetcher.get(FetchRequest(web.url("/ok"), method="HEAD")))
    assert (response.status, response.body) == (200, b"")
    assert response.headers.get("Content-Length") == str(len(PLAIN))
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN
    assert [arrival.method for arrival in web.log.arrivals] == ["HEAD", "GET"]


async def test_a_handle_that_posted_asks_for_the_next_page_like_any_other(make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    with Web() as web:
        site = web.site({"/ok": "<p>fine"})
        posted = FetchRequest(site.url("/ok"), "POST", (("Content-Type", "application/json"),), body=b'{"offset": 20}')
        for request in (posted, FetchRequest(site.url("/ok"), "HEAD"), posted, FetchRequest(site.url("/ok"))):
            assert answered(await fetcher.get(request)).status == 200
    assert [(seen.method, seen.body) for seen in site.log] == [
        ("POST", posted.body),
        ("HEAD", b""),
        ("POST", posted.body),
        ("GET", b""),
    ]
    assert "content-type" not in site.log[3].headers


async def test_head_is_not_refused_for_the_size_or_coding_of_the_body(fetcher: CurlFetcher, web: HostileWeb) -> None:
    limits = FetchLimits(max_body_bytes=10)
    for path in ("/ok", "/encoding/lie?claim=rot13"):
        response = answered(await fetcher.get(FetchRequest(web.url(path), method="HEAD", limits=limits)))
        assert response.status == 200


async def test_a_body_sent_to_head_is_not_taken_for_the_next_answer(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    assert answered(await fetcher.get(FetchRequest(web.url("/head-with-body"), method="HEAD"))).body == b""
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


async def test_validators_go_back_as_they_came(fetcher: CurlFetcher, web: HostileWeb) -> None:
    first = answered(await fetcher.get(FetchRequest(web.url("/validators"))))
    etag, changed = first.headers.get("etag"), first.headers.get("last-modified")
    assert etag is not None
    assert "é" in etag
    for request in (
        FetchRequest(web.url("/validators"), etag=etag),
        FetchRequest(web.url("/validators"), last_modified=changed),
    ):
        again = answered(await fetcher.get(request))
        assert (again.status, again.body) == (304, b"")
    assert answered(await fetcher.get(FetchRequest(web.url("/validators")))).status == 200


@pytest.mark.parametrize("etag", ['"a"\r\nX-Injected: yes', '"€"', "\0", ""])
async def test_a_stored_validator_that_cannot_be_sent_is_left_out(
    fetcher: CurlFetcher, web: HostileWeb, etag: str
) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url("/echo"), etag=etag)))
    seen = json.loads(response.body)["headers"]
    assert not {"if-none-match", "x-injected"} & set(seen)


async def test_cookies_are_never_kept(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    first = answered(await fetcher.get(FetchRequest(web.url("/cookies?count=40"))))
    assert len(first.headers.get_all("set-cookie")) == 40
    assert first.headers.get("set-cookie") == "c0=0; Path=/; Domain=127.0.0.1"
    assert answered(await fetcher.get(FetchRequest(web.url("/cookies?count=1")))).body == b""


@pytest.mark.parametrize("path", ["/redirect/loop", "/redirect/to/private", "/redirect/to/file", "/redirect/to/huge"])
async def test_a_redirect_is_an_answer_and_is_not_followed(fetcher: CurlFetcher, web: HostileWeb, path: str) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url(path))))
    assert response.status == 302
    assert response.headers.get("location")
    assert web.log.paths() == [path]


@pytest.mark.parametrize("kind", RETRY_KINDS)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_plea_for_patience_comes_back_with_its_field(
    fetcher: CurlFetcher, web: HostileWeb, status: int, kind: str
) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url(f"/{status}/{kind}"))))
    assert response.status == status
    assert ("retry-after" in response.headers) == (kind != "none")


async def test_repeated_fields_are_all_kept_in_order(fetcher: CurlFetcher, web: HostileWeb) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url("/429/twice"))))
    assert response.headers.get_all("Retry-After") == ("1", "60")


async def test_the_servers_date_is_read(fetcher: CurlFetcher, web: HostileWeb) -> None:
    web.page("/dated", "x", "200 OK", ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
    web.page("/misdated", "x", "200 OK", ("Date", "yesterday"))
    assert answered(await fetcher.get(FetchRequest(web.url("/dated")))).server_date == 784111777.0
    assert answered(await fetcher.get(FetchRequest(web.url("/misdated")))).server_date is None
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).server_date is None


@pytest.mark.parametrize(
    ("rules", "kind", "accepted"),
    [
        (ContentTypeRules(), "image/png", True),
        (ContentTypeRules(accept=("text/*",)), "text/html; charset=utf-8", True),
        (ContentTypeRules(accept=("text/*",)), "image/png", False),
        (ContentTypeRules(accept=("*/*",), reject=("image/*",)), "image/png", False),
        (ContentTypeRules(reject=("application/pdf",)), "text/html", True),
    ],
)
async def test_only_wanted_types_are_read(
    fetcher: CurlFetcher, web: HostileWeb, rules: ContentTypeRules, kind: str, accepted: bool
) -> None:
    result = await fetcher.get(FetchRequest(web.url(f"/endless?type={kind}"), content_types=rules))
    assert failed(result).kind is (FailureKind.TOO_LARGE if accepted else FailureKind.WRONG_TYPE)
    assert failed(result).status == 200
    if not accepted:
        assert failed(result).wire_bytes <= 2 * 65_536, "more was read than came with the head"


async def test_a_refused_type_does_not_wait_for_its_body(fetcher: CurlFetcher, web: HostileWeb) -> None:
    rules = ContentTypeRules(reject=("image/*",))
    limits = FetchLimits(idle_timeout_s=120, total_timeout_s=120)
    url = web.url("/stalled-body?type=image/png&silent")
    result = await fetcher.get(FetchRequest(url, content_types=rules, limits=limits))
    failure = failed(result)
    assert failure.kind is FailureKind.WRONG_TYPE
    assert failure.detail == "image/png is rejected by image/*"
    assert failure.headers.get("content-type") == "image/png"
    assert (failure.wire_bytes, failure.address) == (0, "127.0.0.1")
    assert failure.elapsed_s < 60


async def test_the_type_of_an_error_page_does_not_matter(fetcher: CurlFetcher, web: HostileWeb) -> None:
    rules = ContentTypeRules(accept=("application/json",))
    assert answered(await fetcher.get(FetchRequest(web.url("/status/404"), content_types=rules))).status == 404


async def _fetch_a_few(web: HostileWeb) -> None:
    settings = FetchSettings("test/1.0", allowed_networks=("127.0.0.1/32",), max_concurrency=4, timer_tick_s=0.02)
    short = FetchLimits(first_byte_timeout_s=0.2)
    async with CurlFetcher(settings, time.time) as fetcher:
        paths = ["/ok", "/encoded/gzip", "/chunks/good", "/reset/body", "/hang", "/encoded/br"] * 3
        requests = (
            fetcher.get(FetchRequest(web.url(path), limits=short if path == "/hang" else FetchLimits()))
            for path in paths
        )
        results = await asyncio.gather(*requests)
        outcomes = [str(answer.status) if isinstance(answer, Response) else answer.kind.value for answer in results]
        assert outcomes == ["200", "200", "200", "reset", "first_byte_timeout", "200"] * 3
        assert fetcher.in_flight == 0


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["standard-loop", "uvloop"])
@pytest.mark.parametrize("epoll", [True, False], ids=["epoll", "loop-readers"])
def test_it_works_on_every_kind_of_loop(
    web: HostileWeb,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[Coroutine[Any, Any, None]], None],
    epoll: bool,
) -> None:
    monkeypatch.setattr(fetcher_module, "_HAS_EPOLL", epoll)
    run(_fetch_a_few(web))


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_agent": " "},
        {"user_agent": "a\r\nX-Injected: yes"},
        {"contact": "a\nb"},
        {"max_concurrency": 0},
        {"max_concurrency": 10, "max_connections": 5},
        {"allowed_networks": ("nonsense",)},
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        CurlFetcher(FetchSettings(**({"user_agent": "test/1.0"} | wrong)), time.time)


@pytest.mark.parametrize("name", FetchLimits.__slots__)
def test_no_limit_can_be_switched_off(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        FetchLimits(**{name: 0})
