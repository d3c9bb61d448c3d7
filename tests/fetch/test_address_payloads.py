"""The guard against every spelling we know: not one connection to the canaries, whatever the URL says.

Each payload goes to the fetcher twice: as it stands, and as the product would send it, read by the WHATWG rules
first. The canaries listen on loopback addresses; a connection, accepted or not, would show in their queues.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress

import ada_url
import pytest

from comity.fetch.fetcher import CurlFetcher
from comity.model.fetch import FailureKind, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.payloads import PAYLOADS
from tests.fetch.test_get import answered, failed
from tests.hostile.web import HostileWeb
from tests.servers.ports import free_port

K = FailureKind
CANARY_ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "::1")
REFUSALS = {K.ADDRESS_REFUSED, K.SCHEME_REFUSED, K.INVALID_URL}
# Long enough for a refusal, short enough to notice an attempt that would hang.
LIMITS = FetchLimits(connect_timeout_s=5, total_timeout_s=5)


class Canaries:
    """Sockets that listen and never accept; a connection stays in their queue and is seen."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.port = free_port()  # one that is free at the other addresses, too
        for address in CANARY_ADDRESSES:
            listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            listener.bind((address, self.port))
            listener.listen(64)
            self.sockets.append(listener)

    def touched(self) -> list[str]:
        """The canaries that somebody connected to."""
        return [listener.getsockname()[0] for listener in select.select(self.sockets, [], [], 0)[0]]

    def close(self) -> None:
        for listener in self.sockets:
            listener.close()


@pytest.fixture
def canaries() -> Iterator[Canaries]:
    listening = Canaries()
    yield listening
    listening.close()


@pytest.fixture
def guarded(make_fetcher: MakeFetcher) -> CurlFetcher:
    """A fetcher as in production: no network is allowed. The decoy name leads nowhere, too."""
    return make_fetcher(allowed_networks=(), resolve={"example.com": "192.0.2.1"})


async def assert_refused(fetcher: CurlFetcher, canaries: Canaries, payload: str) -> None:
    urls = [payload]
    with suppress(ValueError):
        urls.append(ada_url.URL(payload).href)
    for url in urls:
        failure = failed(await fetcher.get(FetchRequest(url, limits=LIMITS)))
        assert failure.kind in REFUSALS, (url, failure)
        assert failure.kind.is_refusal
        assert failure.detail
    assert canaries.touched() == [], payload
    assert fetcher.open_connections == 0


def test_there_are_payloads_enough() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 150


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_no_spelling_reaches_a_canary(guarded: CurlFetcher, canaries: Canaries, payload: str) -> None:
    await assert_refused(guarded, canaries, payload.replace("PORT", str(canaries.port)))


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f.1", "2130706433", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]"])
async def test_the_canaries_do_sing_when_the_network_is_allowed(
    make_fetcher: MakeFetcher, canaries: Canaries, host: str
) -> None:
    """Without this, all that is above might hold for want of a way to the canaries."""
    fetcher = make_fetcher(allowed_networks=("127.0.0.0/8", "::1/128"))
    limits = FetchLimits(first_byte_timeout_s=0.1)
    failure = failed(await fetcher.get(FetchRequest(f"http://{host}:{canaries.port}/", limits=limits)))
    assert failure.kind is K.FIRST_BYTE_TIMEOUT
    assert len(canaries.touched()) == 1


@pytest.mark.parametrize(
    "addresses",
    [
        "127.0.0.1", "127.0.0.2", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254",
        "192.168.1.1", "0.0.0.0", "[fe80::1]", "[fd00::1]", "127.0.0.1,127.0.0.2", "[::1],127.0.0.1",
        "10.0.0.1,127.0.0.1,[::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    ],
)  # fmt: skip
async def test_no_name_leads_to_a_canary(make_fetcher: MakeFetcher, canaries: Canaries, addresses: str) -> None:
    fetcher = make_fetcher(allowed_networks=(), resolve={"innocent.test": addresses})
    await assert_refused(fetcher, canaries, f"http://innocent.test:{canaries.port}/")


async def test_of_several_addresses_only_the_allowed_are_dialled(
    make_fetcher: MakeFetcher, canaries: Canaries, web: HostileWeb
) -> None:
    """127.0.0.1 stands for a public address here; the other one listens on the same port."""
    with socket.socket() as other:
        other.bind(("127.0.0.2", web.port))
        other.listen(8)
        fetcher = make_fetcher(allowed_networks=("127.0.0.1/32",), resolve={"mixed.test": "127.0.0.2,127.0.0.1"})
        response = answered(await fetcher.get(FetchRequest(web.url("/ok", host="mixed.test"))))
        assert response.address == "127.0.0.1"
        assert select.select([other], [], [], 0)[0] == []


class Rebinding(Mapping[str, str]):
    """A name that leads elsewhere each time it is looked up."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def __getitem__(self, host: str) -> str:
        if host != "rebind.test":
            raise KeyError(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __iter__(self) -> Iterator[str]:
        return iter(("rebind.test",))

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("second", ["127.0.0.2", "127.1.2.3", "[::1]", "10.0.0.1", "169.254.169.254"])
async def test_a_name_that_was_public_a_moment_ago_is_judged_anew(
    make_fetcher: MakeFetcher, canaries: Canaries, second: str
) -> None:
    """127.0.0.1 is allowed and so plays the public address; the second look-up leads inside."""
    with HostileWeb() as public:
        public.robots["rebind.test"] = "deny"
        fetcher = make_fetcher(allowed_networks=("127.0.0.1/32",), resolve=Rebinding("127.0.0.1", second))
        first = await fetcher.get(FetchRequest(public.url("/ok", host="rebind.test")))
        assert isinstance(first, Response)
        failure = failed(await fetcher.get(FetchRequest(f"http://rebind.test:{canaries.port}/", limits=LIMITS)))
        assert failure.kind is K.ADDRESS_REFUSED
        assert canaries.touched() == []


async def test_a_redirect_hop_is_judged_like_any_other(
    fetcher: CurlFetcher, guarded: CurlFetcher, web: HostileWeb
) -> None:
    for place in ("private", "loopback", "metadata", "decimal", "mapped", "file", "gopher", "data", "userinfo"):
        response = answered(await fetcher.get(FetchRequest(web.url(f"/redirect/to/{place}"))))
        location = response.headers.get("location")
        assert location is not None
        assert failed(await guarded.get(FetchRequest(location, limits=LIMITS))).kind in REFUSALS


@pytest.mark.parametrize("port", [0, 1, 22, 25, 110, 6667, 10080, 65536, 99999])
async def test_ports_of_other_protocols_are_refused(fetcher: CurlFetcher, port: int) -> None:
    failure = failed(await fetcher.get(FetchRequest(f"http://127.0.0.1:{port}/")))
    assert failure.kind in (K.ADDRESS_REFUSED, K.INVALID_URL)


@pytest.mark.parametrize(
    "url", ["", " ", "http://", "http:///", "https://?", "/path", "example.com/", "http://a b/", "http://[::1"]
)
async def test_what_is_no_url_is_not_fetched(guarded: CurlFetcher, url: str) -> None:
    assert failed(await guarded.get(FetchRequest(url, limits=LIMITS))).kind in REFUSALS


async def test_a_password_in_a_url_is_never_sent(fetcher: CurlFetcher, web: HostileWeb) -> None:
    failure = failed(await fetcher.get(FetchRequest(web.url("/echo").replace("http://", "http://user:secret@"))))
    assert failure.kind is K.INVALID_URL
    assert "secret" not in failure.detail
    assert web.log.arrivals == []
