"""Every special-purpose block is refused by name, at both of its ends; its neighbours are judged for themselves."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.address_guard import decide, decide_name, decide_port, parse_networks

# IANA's IPv4 and IPv6 special-purpose address registries, multicast, and what cloud platforms answer on.
BLOCKS = [
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private use"),
    ("100.64.0.0/10", "shared address space"),
    ("100.100.100.200/32", "metadata"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "cloud platform"),
    ("169.254.0.0/16", "link-local"),
    ("169.254.169.254/32", "metadata"),
    ("172.16.0.0/12", "private use"),
    ("192.0.0.0/24", "IETF protocol assignments"),
    ("192.0.0.0/29", "service continuity"),
    ("192.0.0.8/32", "dummy"),
    ("192.0.0.9/32", "port control"),
    ("192.0.0.10/32", "TURN"),
    ("192.0.0.170/31", "NAT64/DNS64"),
    ("192.0.0.192/32", "metadata"),
    ("192.0.2.0/24", "TEST-NET-1"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "AMT"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private use"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "TEST-NET-2"),
    ("203.0.113.0/24", "TEST-NET-3"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("255.255.255.255/32", "broadcast"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b:1::/48", "local-use NAT64"),
    ("100::/64", "discard"),
    ("100:0:0:1::/64", "dummy"),
    ("2001::/23", "IETF protocol assignments"),
    ("2001::/32", "Teredo"),
    ("2001:1::1/128", "port control"),
    ("2001:1::2/128", "TURN"),
    ("2001:1::3/128", "DNS-SD"),
    ("2001:2::/48", "benchmarking"),
    ("2001:3::/32", "AMT"),
    ("2001:4:112::/48", "AS112"),
    ("2001:10::/28", "ORCHID"),
    ("2001:20::/28", "ORCHIDv2"),
    ("2001:30::/28", "drone"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "AS112"),
    ("3ffe::/16", "6bone"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique-local"),
    ("fd00:ec2::254/128", "metadata"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
    # given to nobody
    ("200::/7", "not global unicast"),
    ("400::/6", "not global unicast"),
    ("800::/5", "not global unicast"),
    ("1000::/4", "not global unicast"),
    ("4000::/4", "not global unicast"),
    ("8000::/3", "not global unicast"),
    ("e000::/4", "not global unicast"),
    ("fe00::/9", "not global unicast"),
]

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
    "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.31.195.255", "192.31.197.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
    "203.0.112.255", "203.0.114.0", "223.255.255.255",
    "2000::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2620:4f:7fff::1", "2a00::1",
    "3ffd:ffff::1", "3fff:1000::1", "64:ff9b::8.8.8.8", "64:ff9b::808:808",
]  # fmt: skip


@pytest.mark.parametrize(("block", "name"), BLOCKS)
def test_a_block_is_refused_from_end_to_end_and_by_name(block: str, name: str) -> None:
    network = ip_network(block)
    middle = network[network.num_addresses // 2]
    verdicts = [decide(str(address)) for address in (network[0], middle, network[-1])]
    assert not any(verdict.allowed for verdict in verdicts)
    assert any(name in verdict.reason for verdict in verdicts), verdicts


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_passes(address: str) -> None:
    assert decide(address).allowed


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("::ffff:127.0.0.1", "127.0.0.1 is in 127.0.0.0/8: loopback"),
        ("::ffff:10.0.0.1", "private use"),
        ("::ffff:8.8.8.8", "carrying 8.8.8.8"),
        ("::ffff:0:10.0.0.1", "private use"),
        ("::10.0.0.1", "private use"),
        ("2002:a9fe:a9fe::1", "cloud metadata"),
        ("2002:808:808::1", "carrying 8.8.8.8"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45"),
        ("64:ff9b::10.0.0.1", "private use"),
        ("64:ff9b::169.254.169.254", "cloud metadata"),
        ("2606:4700::5efe:10.0.0.1", "ISATAP"),
        ("2606:4700::200:5efe:10.0.0.1", "ISATAP"),
    ],
)
def test_an_address_inside_another_is_named(address: str, part: str) -> None:
    verdict = decide(address)
    assert not verdict.allowed
    assert part in verdict.reason


@pytest.mark.parametrize(
    "text",
    ["", "localhost", "127.0.0.1:80", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "1.2.3.4.5", "[::1]", "::g",
     "127.0.0.1\0", " 8.8.8.8", "8.8.8.8/32", "%eth0", "x" * 10_000],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    verdict = decide(text)
    assert not verdict.allowed
    assert "not a network address" in verdict.reason
    assert len(verdict.reason) < 200


@pytest.mark.parametrize(("address", "allowed"), [("fe80::1%eth0", False), ("::1%lo", False), ("2606:4700::1%2", True)])
def test_a_zone_does_not_change_the_address(address: str, allowed: bool) -> None:
    assert decide(address).allowed is allowed


@pytest.mark.parametrize(
    ("address", "networks", "allowed"),
    [
        ("127.0.0.1", ("127.0.0.0/8",), True),
        ("127.0.0.1", ("127.0.0.2/32",), False),
        ("10.1.2.3", ("192.168.0.0/16", "10.0.0.0/8"), True),
        ("::1", ("127.0.0.0/8",), False),
        ("::1", ("::1/128",), True),
        ("fe80::1%eth0", ("fe80::/64",), True),
        ("::ffff:127.0.0.1", ("127.0.0.0/8",), True),
        ("::ffff:127.0.0.1", ("::ffff:0:0/96",), True),
        ("64:ff9b::7f00:1", ("127.0.0.0/8",), False),
        ("64:ff9b::7f00:1", ("64:ff9b::/96",), True),
        ("2002:7f00:1::", ("127.0.0.0/8",), False),
        ("2002:7f00:1::", ("2002::/16",), True),
        ("169.254.169.254", ("0.0.0.0/0",), True),
    ],
)
def test_an_allowed_network_wins(address: str, networks: tuple[str, ...], allowed: bool) -> None:
    verdict = decide(address, parse_networks(networks))
    assert verdict.allowed is allowed
    if allowed:
        assert "allowed network" in verdict.reason


@given(st.ip_addresses(v=4))
def test_ipv4_agrees_with_the_standard_library_where_that_refuses(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert not decide(str(address)).allowed


@given(st.ip_addresses(v=6))
def test_ipv6_agrees_with_the_standard_library_where_that_refuses(address: IPv6Address) -> None:
    if not address.is_global and address not in IPv6Network("64:ff9b::/96"):
        assert not decide(str(address)).allowed


@given(st.ip_addresses(v=4))
def test_no_wrapping_makes_a_refused_address_pass(address: IPv4Address) -> None:
    packed = int(address)
    wrapped = [
        (0xFFFF << 32) | packed,
        packed,
        (0xFFFF << 48) | packed,
        (0x64FF9B << 96) | packed,
        (0x2002 << 112) | (packed << 80),
        (0x20010000 << 96) | (packed << 64) | (~packed & 0xFFFFFFFF),
    ]
    if not decide(str(address)).allowed:
        for number in wrapped:
            assert not decide(str(IPv6Address(number))).allowed


@given(st.ip_addresses(), st.integers(min_value=0, max_value=32))
def test_whatever_is_allowed_is_allowed_by_a_network_that_holds_it(
    address: IPv4Address | IPv6Address, spare_bits: int
) -> None:
    network = ip_network((int(address), address.max_prefixlen - spare_bits), strict=False)
    assert decide(str(address), (network,)).allowed


def test_networks_are_read_from_text_and_kept_if_they_are_networks() -> None:
    given_networks = ("10.0.0.0/8", ip_network("::1/128"), "192.168.1.1")
    assert [str(network) for network in parse_networks(given_networks)] == ["10.0.0.0/8", "::1/128", "192.168.1.1/32"]


@pytest.mark.parametrize("wrong", ["nonsense", "10.0.0.1/8", "10.0.0.0/33", "", "localhost"])
def test_a_network_that_is_none_is_an_error(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_networks([wrong])


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("example.com", True), ("127.0.0.1.example.com", True), ("8.8.8.8", True), ("[2606:4700::1111]", True),
        ("localhost", False), ("LOCALHOST", False), ("localhost.", False), ("a.b.localhost", False),
        ("127.0.0.1", False), ("127.0.0.1.", False), ("10.0.0.1", False), ("[::1]", False), ("[fd00::1]", False),
        ("169.254.169.254", False), ("127.1", False), ("2130706433", False), ("notlocalhost", True),
    ],
)  # fmt: skip
def test_without_looking_it_up_a_host_is_judged_by_its_spelling(host: str, allowed: bool) -> None:
    assert decide_name(host).allowed is allowed


def test_localhost_may_be_allowed_by_its_network() -> None:
    assert decide_name("localhost", parse_networks(["127.0.0.0/8"])).allowed


@pytest.mark.parametrize(("port", "allowed"), [(80, True), (443, True), (8080, True), (32768, True), (65535, True)])
def test_ports_where_the_web_may_be(port: int, allowed: bool) -> None:
    assert decide_port(port).allowed is allowed


@pytest.mark.parametrize("port", [0, 1, 21, 22, 23, 25, 53, 110, 143, 465, 587, 993, 2049, 6000, 6667, 10080, 65536])
def test_ports_of_other_protocols_are_refused(port: int) -> None:
    verdict = decide_port(port)
    assert not verdict.allowed
    assert str(port) in verdict.reason


def test_every_public_address_of_the_table_is_public_for_the_standard_library_too() -> None:
    for text in PUBLIC:
        address = ip_address(text)
        if address not in IPv6Network("64:ff9b::/96"):
            assert address.is_global
