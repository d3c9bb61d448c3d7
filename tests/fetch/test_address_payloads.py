"""The guard against every spelling we know: not one connection to the canaries, whatever the URL says.

Each payload goes to the fetcher twice: as it stands, and as the product would send it, read by the WHATWG rules
first. The canaries listen on loopback addresses; a connection, accepted or not, would show in their queues.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping

import ada_url
import pytest

from comity.fetch.fetcher import Fetcher
from comity.model.fetch import FailureKind, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_get import answered, failed
from tests.hostile.web import HostileWeb

K = FailureKind
CANARY_ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "::1")
REFUSALS = {K.ADDRESS_REFUSED, K.SCHEME_REFUSED, K.INVALID_URL}
# Long enough for a refusal, short enough to notice an attempt that would hang.
LIMITS = FetchLimits(connect_timeout_s=5, total_timeout_s=5)

IPV4_SPELLINGS = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.0.0.2",
    "127.1.2.3",
    "127.255.255.254",
    "127.0.0.0",
    "127.1",
    "127.0.1",
    "127.65793",
    "2130706433",
    "2130706434",
    "2147483646",
    "0x7f000001",
    "0x7F000001",
    "0X7F000001",
    "017700000001",
    "0017700000001",
    "00000000017700000001",
    "0x7f.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "0x7f.1",
    "0x7f.0.1",
    "0177.0.0.1",
    "0177.0.0.01",
    "0177.1",
    "0177.0x0.0.1",
    "0x7f.0.0.01",
    "0177.0.0x1",
    "0x000000007f000001",
    "127.0.0x0.1",
    "127.0x1",
    "127.01",
    "0x7f.0x1",
    "00177.0.0.1",
    "0x7f.00.00.01",
    "127.000000.0000.0001",
    "0",
    "0.0.0.0",
    "0x0",
    "00",
    "0.0",
    "0.0.0",
    "0.1.2.3",
    "0x00000000",
    "10.0.0.1",
    "10.255.255.255",
    "0xa000001",
    "012.0.0.1",
    "167772161",
    "10.1",
    "172.16.0.1",
    "172.31.255.254",
    "2886729729",
    "0xac100001",
    "192.168.0.1",
    "192.168.1.1",
    "3232235521",
    "0xc0a80001",
    "0300.0250.0.1",
    "192.168.257",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "0xa9.254.0251.254",
    "169.254.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    "037777777777",
    "168.63.129.16",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
]

ODD_SPELLINGS = [
    # percent-encoding, full-width and circled digits, other dots, soft hyphens: all folded by IDNA
    "%31%32%37.0.0.1", "%31%32%37%2e%30%2e%30%2e%31", "127%2e0%2e0%2e1", "%30%78%37%66%30%30%30%30%30%31",
    "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７。0．0｡1", "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "１６９.254.169.254", "①⑥⑨.②⑤④.①⑥⑨.②⑤④", "0ⓧ7f.1", "127\u00ad.0.0.1", "127.0.0.1\u2060", "localhost",
    "LOCALHOST", "localhost.", "LoCaLhOsT", "ｌｏｃａｌｈｏｓｔ", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "local\u00adhost", "%6c%6f%63%61%6c%68%6f%73%74",
]  # fmt: skip

IPV6_SPELLINGS = [
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[0::1]",
    "[::]",
    "[0:0:0:0:0:0:0:0]",
    "[::0]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::FFFF:7F00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[0000::ffff:7f00:0001]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0.0.0.0]",
    "[::ffff:8.8.8.8]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::10.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:0:7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::7f00:1]",
    "[64:ff9b:1::8.8.8.8]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2002:a00:1::]",
    "[2002:a9fe:a9fe::]",
    "[2002:808:808::]",
    "[2001:0:7f00:1::]",
    "[2001::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[2001:2::1]",
    "[2001:db8::1]",
    "[2001:4:112::1]",
    "[2620:4f:8000::1]",
    "[3fff::1]",
    "[3ffe::1]",
    "[5f00::1]",
    "[100::1]",
    "[100:0:0:1::1]",
    "[fc00::1]",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[fdff:ffff::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[feff::1]",
    "[ff02::1]",
    "[ff0e::1]",
    "[4000::1]",
    "[8000::1]",
    "[e000::1]",
    "[1::1]",
    "[2606:4700::5efe:7f00:1]",
    "[2606:4700::200:5efe:a00:1]",
]

TRICKS = [
    # users, passwords, backslashes, fragments and blanks that make the host look like another
    "http://example.com@{host}/", "http://example.com:80@{host}/", "http://user:pass@{host}/", "http://{host}@{host}/",
    "http://example.com%40{host}/", "http:\\\\{host}\\", "http:/{host}/", "http:{host}", "http:///{host}/",
    "http:////{host}/", "http://{host}\\@example.com/", "http://{host}#@example.com/", "http://{host}?@example.com/",
    "http://example.com\\@{host}/", " http://{host}/", "http://{host}/ ", "\thttp://{host}/", "ht\ntp://{host}/",
    "http://\t{host}/", "http:/\n/{host}/", "\x00http://{host}/", "HTTP://{host}/", "hTtP://{host}/",
    "http://{host}:@example.com/", "http://@{host}/", "http://:@{host}/", "//{host}/", "{host}", "http://[{host}]/",
    "http://{host}%00.example.com/", "http://{host}%0d%0aX:y/", "http://{host} .example.com/", "http://{host}%20/",
    "http://{host}/../../x", "http://{host}/%2e%2e/", "https://{host}/",
]  # fmt: skip

OTHER_SCHEMES = [
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "FILE:///etc/passwd",
    "ftp://127.0.0.1/",
    "ftps://127.0.0.1/",
    "sftp://127.0.0.1/",
    "gopher://127.0.0.1:70/_GET",
    "dict://127.0.0.1:11211/stats",
    "ldap://127.0.0.1/",
    "ldaps://127.0.0.1/",
    "tftp://127.0.0.1/x",
    "telnet://127.0.0.1/",
    "imap://127.0.0.1/",
    "pop3://127.0.0.1/",
    "smtp://127.0.0.1/",
    "rtsp://127.0.0.1/",
    "mqtt://127.0.0.1/",
    "smb://127.0.0.1/x",
    "scp://127.0.0.1/x",
    "ws://127.0.0.1/",
    "wss://127.0.0.1/",
    "jar:http://127.0.0.1!/",
    "netdoc:///etc/passwd",
    "data:text/html,hello",
    "javascript:alert(1)",
    "about:blank",
    "blob:http://127.0.0.1/x",
    "view-source:http://127.0.0.1/",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "unix:///var/run/docker.sock",
    "mailto:a@127.0.0.1",
]


class Canaries:
    """Sockets that listen and never accept; a connection stays in their queue and is seen."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.port = 0
        for address in CANARY_ADDRESSES:
            listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            listener.bind((address, self.port))
            listener.listen(64)
            self.port = listener.getsockname()[1]
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
def guarded(make_fetcher: MakeFetcher) -> Fetcher:
    """A fetcher as in production: no network is allowed."""
    return make_fetcher(allowed_networks=())


async def assert_refused(fetcher: Fetcher, canaries: Canaries, payload: str) -> None:
    urls = [payload]
    try:
        urls.append(ada_url.URL(payload).href)
    except ValueError:
        pass
    for url in urls:
        failure = failed(await fetcher.get(FetchRequest(url, limits=LIMITS)))
        assert failure.kind in REFUSALS, (url, failure)
        assert failure.kind.is_refusal
        assert failure.detail
    assert canaries.touched() == [], payload
    assert fetcher.open_connections == 0


HOSTS = [*IPV4_SPELLINGS, *ODD_SPELLINGS, *IPV6_SPELLINGS]
TRICK_HOSTS = ("127.0.0.1", "0x7f.1", "2130706433", "[::1]", "localhost")
PAYLOADS = [
    *(f"http://{host}:PORT/" for host in HOSTS),
    *(trick.replace("{host}", host + ":PORT") for trick in TRICKS for host in TRICK_HOSTS),
    *OTHER_SCHEMES,
]


def test_there_are_payloads_enough() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 150


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_no_spelling_reaches_a_canary(guarded: Fetcher, canaries: Canaries, payload: str) -> None:
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


async def test_a_redirect_hop_is_judged_like_any_other(fetcher: Fetcher, guarded: Fetcher, web: HostileWeb) -> None:
    for place in ("private", "loopback", "metadata", "decimal", "mapped", "file", "gopher", "data", "userinfo"):
        response = answered(await fetcher.get(FetchRequest(web.url(f"/redirect/to/{place}"))))
        location = response.headers.get("location")
        assert location is not None
        assert failed(await guarded.get(FetchRequest(location, limits=LIMITS))).kind in REFUSALS


@pytest.mark.parametrize("port", [0, 1, 22, 25, 110, 6667, 10080, 65536, 99999])
async def test_ports_of_other_protocols_are_refused(fetcher: Fetcher, port: int) -> None:
    failure = failed(await fetcher.get(FetchRequest(f"http://127.0.0.1:{port}/")))
    assert failure.kind in (K.ADDRESS_REFUSED, K.INVALID_URL)


@pytest.mark.parametrize(
    "url", ["", " ", "http://", "http:///", "https://?", "/path", "example.com/", "http://a b/", "http://[::1"]
)
async def test_what_is_no_url_is_not_fetched(guarded: Fetcher, url: str) -> None:
    assert failed(await guarded.get(FetchRequest(url, limits=LIMITS))).kind in REFUSALS


async def test_a_password_in_a_url_is_never_sent(fetcher: Fetcher, web: HostileWeb) -> None:
    failure = failed(await fetcher.get(FetchRequest(web.url("/echo").replace("http://", "http://user:secret@"))))
    assert failure.kind is K.INVALID_URL
    assert "secret" not in failure.detail
    assert web.log.arrivals == []
