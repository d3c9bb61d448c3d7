"""Through a proxy: with its password, without the guard being talked round, and never by way of the environment."""

from __future__ import annotations

import pytest

from comity.fetch.dialler import ProxiedNames
from comity.fetch.settings import ProxySettings
from comity.model.fetch import ContentTypeRules, FailureKind, FetchRequest, Proxy
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_get import answered, failed
from tests.hostile.bodies import PLAIN
from tests.hostile.proxy import LoopbackProxy
from tests.hostile.web import HostileWeb

LOGIN = ("robot", "p@ss:w/rd é".replace("é", "e"))


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize("login", [None, LOGIN], ids=["open", "login"])
async def test_pages_come_through_a_proxy(
    make_fetcher: MakeFetcher, web: HostileWeb, kind: str, login: tuple[str, str] | None
) -> None:
    with LoopbackProxy((web.address, web.port), kind, login) as proxy:
        user, password = login or (None, None)
        # The proxy itself is on loopback and needs no permission: the operator gave it.
        fetcher = make_fetcher(
            proxy=ProxySettings(proxy.url, user, password), allowed_networks=(), resolve={"site.test": "127.0.0.1"}
        )
        response = answered(await fetcher.get(FetchRequest("http://site.test/ok")))
        assert (response.status, response.body) == (200, PLAIN)
        assert len(proxy.asked) == 1
        assert proxy.logins == ([user] if user else [])
        assert web.log.arrivals[0].headers["host"] == "site.test"
        assert "proxy-authorization" not in web.log.arrivals[0].headers or kind == "http"


@pytest.mark.parametrize("kind", ["http", "socks5h"])
async def test_tls_goes_through_a_tunnel(make_fetcher: MakeFetcher, secure_web: HostileWeb, kind: str) -> None:
    with LoopbackProxy((secure_web.address, secure_web.port), kind, LOGIN) as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url, *LOGIN), allowed_networks=())
        # The proxy's own head names a type that would be refused.
        request = FetchRequest("https://site.test/ok", content_types=ContentTypeRules(reject=("image/*",)))
        for _ in range(2):
            response = answered(await fetcher.get(request))
            assert response.body == PLAIN
            assert response.content_type == "text/html; charset=utf-8"
        assert len(proxy.asked) == 1, "the tunnel is kept"
        assert proxy.asked[0].endswith("site.test:443")


async def test_a_proxy_may_itself_be_reached_over_tls(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    with LoopbackProxy((web.address, web.port), "http", LOGIN, certificate="good") as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url, *LOGIN), allowed_networks=())
        assert answered(await fetcher.get(FetchRequest("http://site.test/ok"))).body == PLAIN


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_wrong_password_is_not_mistaken_for_the_sites_answer(
    make_fetcher: MakeFetcher, web: HostileWeb, scheme: str
) -> None:
    with LoopbackProxy((web.address, web.port), "http", LOGIN) as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url, "robot", "wrong"), allowed_networks=())
        result = await fetcher.get(FetchRequest(f"{scheme}://site.test/ok"))
    assert failed(result).kind is FailureKind.PROXY_FAILURE
    assert failed(result).kind.is_network
    assert web.log.arrivals == []


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:4", "socks5h://127.0.0.1:4", "https://127.0.0.1:4"])
@pytest.mark.parametrize("url", ["http://site.test/", "https://site.test/"])
async def test_a_dead_proxy_is_a_failure_of_the_proxy_and_not_of_the_site(
    make_fetcher: MakeFetcher, proxy: str, url: str
) -> None:
    fetcher = make_fetcher(proxy=ProxySettings(proxy), allowed_networks=())
    failure = failed(await fetcher.get(FetchRequest(url)))
    assert failure.kind is FailureKind.PROXY_FAILURE
    assert failure.kind.is_ours
    assert failure.kind.is_network


async def test_each_request_may_have_its_own_proxy_and_the_next_one_has_none_of_it(
    make_fetcher: MakeFetcher, web: HostileWeb
) -> None:
    with LoopbackProxy((web.address, web.port), "http", LOGIN) as one, LoopbackProxy((web.address, web.port)) as two:
        fetcher = make_fetcher(max_concurrency=1)  # one handle for all of them
        first = FetchRequest("http://site.test/ok", proxy=Proxy(one.url, *LOGIN))
        assert answered(await fetcher.get(first)).body == PLAIN
        second = FetchRequest("http://site.test/ok", proxy=Proxy(two.url))
        assert answered(await fetcher.get(second)).body == PLAIN
        assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN
        assert answered(await fetcher.get(first)).body == PLAIN
        assert [len(one.asked), len(two.asked)] == [1, 1], "the connection of the first is kept"
        assert one.logins == [LOGIN[0]]


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fd00::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "https://192.168.1.1/",
        "http://%31%32%37.0.0.1/",
        "http://１２７.0.0.1/",
        "http://public.example:25/",
    ],
)
async def test_no_proxy_is_asked_for_a_forbidden_address(
    make_fetcher: MakeFetcher, web: HostileWeb, target: str
) -> None:
    for kind in ("http", "socks5h"):
        with LoopbackProxy((web.address, web.port), kind) as proxy:
            fetcher = make_fetcher(proxy=ProxySettings(proxy.url), allowed_networks=())
            failure = failed(await fetcher.get(FetchRequest(target)))
            assert failure.kind is FailureKind.ADDRESS_REFUSED
            assert proxy.asked == []


async def test_an_allowed_network_is_allowed_through_a_proxy_too(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    with LoopbackProxy((web.address, web.port)) as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url), allowed_networks=("10.0.0.0/8",))
        assert answered(await fetcher.get(FetchRequest("http://10.1.2.3/ok"))).body == PLAIN


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
async def test_the_environment_names_no_proxy(
    make_fetcher: MakeFetcher, web: HostileWeb, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with LoopbackProxy((web.address, web.port)) as proxy:
        monkeypatch.setenv(name, proxy.url)
        assert answered(await make_fetcher().get(FetchRequest(web.url("/ok")))).body == PLAIN
        assert proxy.asked == []


async def test_the_environment_exempts_no_host_from_the_proxy(
    make_fetcher: MakeFetcher, web: HostileWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with LoopbackProxy((web.address, web.port)) as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url), allowed_networks=())
        assert answered(await fetcher.get(FetchRequest("http://site.test/ok"))).body == PLAIN
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:21", "127.0.0.1:8080", "http://", "http://user:secret@proxy:8080"])
def test_a_proxy_that_cannot_be_meant_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="proxy"):
        ProxySettings(url)


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(ProxySettings("http://proxy:8080", "robot", "secret"))


@pytest.mark.parametrize(
    ("addresses", "reason"),
    [
        (["192.168.1.5"], "private use"),
        (["93.184.216.34", "10.0.0.1"], "private use"),
        (["169.254.169.254"], "metadata"),
        (["fd00::1"], "unique-local"),
        (["93.184.216.34", "2606:2800:220:1::1"], None),
        ([], None),
    ],
)
async def test_a_name_that_leads_to_a_private_address_is_not_handed_to_a_proxy(
    make_fetcher: MakeFetcher, web: HostileWeb, addresses: list[str], reason: str | None
) -> None:
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        if not addresses:
            raise OSError("no such name here")
        return addresses

    with LoopbackProxy((web.address, web.port), "http", None) as proxy:
        fetcher = make_fetcher(proxy=ProxySettings(proxy.url), allowed_networks=())
        fetcher._names = ProxiedNames((), look_up)
        for _ in range(2):
            result = await fetcher.get(FetchRequest("http://inside.test/ok"))
            if reason is None:
                assert answered(result).body == PLAIN
            else:
                failure = failed(result)
                assert failure.kind is FailureKind.ADDRESS_REFUSED
                assert reason in failure.detail
        assert asked == ["inside.test"], "looked up once"
        assert bool(proxy.asked) == (reason is None)
