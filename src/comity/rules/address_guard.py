"""Which network addresses a crawler may connect to: takes an address as text, returns a verdict that names the block.

The guard judges the address that is actually dialled, so every way to write it and every name that resolves to it are
checked against the same table. The blocks are IANA's special-purpose registries (RFC 6890 and its updates), multicast,
reserved space and the few public-looking addresses on which cloud platforms serve their metadata. Blocks that IANA
calls globally reachable but that host no web sites (AS112, AMT, ORCHID, 6to4 anycast) are refused, too.

Forms that carry an IPv4 address inside an IPv6 one:
- NAT64's well-known prefix passes if the IPv4 address inside is public: networks without IPv4 need it (RFC 6052).
- IPv4-mapped addresses are refused, unless the IPv4 address inside is in an allowed network: they dial the same.
- 6to4, Teredo, IPv4-compatible and ISATAP addresses are refused: tunnels lead past the guard.
Nothing outside 2000::/3 is allocated (RFC 4291 §2.4), so the rest is refused too. An allowed network takes precedence
over every block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from comity.model.dataclass import dataclass

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class AddressVerdict:
    """Allowed or refused; the reason names the block, or the allowed network."""

    allowed: bool
    reason: str
    address: str | None = None
    """The refused address, if it was an address: a network that contains it may be allowed later."""


_IPV4_BLOCKS: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(block), name)
    for block, name in (
        ("0.0.0.0/8", "this network (RFC 791)"),
        ("10.0.0.0/8", "private use (RFC 1918)"),
        ("100.100.100.200/32", "cloud metadata, in shared address space (RFC 6598)"),
        ("100.64.0.0/10", "shared address space, carrier-grade NAT (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("168.63.129.16/32", "cloud platform address"),
        ("169.254.169.254/32", "cloud metadata, link-local (RFC 3927)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private use (RFC 1918)"),
        ("192.0.0.0/29", "IPv4 service continuity prefix (RFC 7335)"),
        ("192.0.0.8/32", "IPv4 dummy address (RFC 7600)"),
        ("192.0.0.9/32", "port control protocol anycast (RFC 7723)"),
        ("192.0.0.10/32", "TURN anycast (RFC 8155)"),
        ("192.0.0.170/31", "NAT64/DNS64 discovery (RFC 7050)"),
        ("192.0.0.192/32", "cloud metadata, in IETF protocol assignments"),
        ("192.0.0.0/24", "IETF protocol assignments (RFC 6890)"),
        ("192.0.2.0/24", "documentation, TEST-NET-1 (RFC 5737)"),
        ("192.31.196.0/24", "AS112-v4 (RFC 7535)"),
        ("192.52.193.0/24", "AMT (RFC 7450)"),
        ("192.88.99.0/24", "6to4 relay anycast, deprecated (RFC 7526)"),
        ("192.168.0.0/16", "private use (RFC 1918)"),
        ("192.175.48.0/24", "direct delegation AS112 (RFC 7534)"),
        ("198.18.0.0/15", "benchmarking (RFC 2544)"),
        ("198.51.100.0/24", "documentation, TEST-NET-2 (RFC 5737)"),
        ("203.0.113.0/24", "documentation, TEST-NET-3 (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255/32", "limited broadcast (RFC 8190)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
    )
)

# The first block that contains the address names the refusal, so narrow blocks come before wide ones.
_IPV6_BLOCKS: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(block), name)
    for block, name in (
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("::ffff:0:0/96", "IPv4-mapped (RFC 4291)"),
        ("::ffff:0:0:0/96", "IPv4-translated (RFC 2765)"),
        ("::/96", "IPv4-compatible, deprecated (RFC 4291)"),
        ("64:ff9b:1::/48", "local-use NAT64 (RFC 8215)"),
        ("100::/64", "discard only (RFC 6666)"),
        ("100:0:0:1::/64", "dummy prefix (RFC 9780)"),
        ("2001::/32", "Teredo (RFC 4380)"),
        ("2001:1::1/128", "port control protocol anycast (RFC 7723)"),
        ("2001:1::2/128", "TURN anycast (RFC 8155)"),
        ("2001:1::3/128", "DNS-SD service registration anycast (RFC 9665)"),
        ("2001:2::/48", "benchmarking (RFC 5180)"),
        ("2001:3::/32", "AMT (RFC 7450)"),
        ("2001:4:112::/48", "AS112-v6 (RFC 7535)"),
        ("2001:10::/28", "ORCHID, deprecated (RFC 4843)"),
        ("2001:20::/28", "ORCHIDv2 (RFC 7343)"),
        ("2001:30::/28", "drone remote identification (RFC 9374)"),
        ("2001::/23", "IETF protocol assignments (RFC 2928)"),
        ("2001:db8::/32", "documentation (RFC 3849)"),
        ("2002::/16", "6to4 (RFC 3056)"),
        ("2620:4f:8000::/48", "direct delegation AS112 (RFC 7534)"),
        ("3ffe::/16", "6bone, returned (RFC 3701)"),
        ("3fff::/20", "documentation (RFC 9637)"),
        ("5f00::/16", "segment routing identifiers (RFC 9602)"),
        ("fd00:ec2::/32", "cloud metadata, in unique-local (RFC 4193)"),
        ("fd20:ce::254/128", "cloud metadata, in unique-local (RFC 4193)"),
        ("fc00::/7", "unique-local (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local, deprecated (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
)

# Ports on which other protocols would take a request for a command: the Fetch standard's "bad ports".
# fmt: off
_OTHER_PROTOCOLS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
        102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
        465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
        993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
        6668, 6669, 6679, 6697, 10080,
    }
)
# fmt: on

_NAT64 = IPv6Network("64:ff9b::/96")
_MAPPED = IPv6Network("::ffff:0:0/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# RFC 5214 §6.1: the upper half of an ISATAP interface identifier, with and without the universal bit.
_ISATAP_MARKS = (0x0000_5EFE, 0x0200_5EFE)
_PUBLIC = AddressVerdict(True, "public")


def parse_networks(networks: Iterable[str | Network]) -> tuple[Network, ...]:
    """Parse the setting that lists allowed networks; raise ValueError for an invalid one."""
    return tuple(
        network if isinstance(network, IPv4Network | IPv6Network) else ip_network(network) for network in networks
    )


def decide(address: str, allowed_networks: Sequence[Network] = ()) -> AddressVerdict:
    """Judge one address just before it is dialled; an unreadable one is refused."""
    text, _, _zone = address.partition("%")  # RFC 4007 §11: a zone names an interface, not another address
    try:
        parsed = ip_address(text)
    except ValueError:
        return AddressVerdict(False, f"{address[:80]!r} is not a network address")
    inside = _allowing_network(parsed, allowed_networks)
    if inside is not None:
        return AddressVerdict(True, f"{parsed} is in the allowed network {inside}")
    verdict = _decide_ipv4(parsed) if isinstance(parsed, IPv4Address) else _decide_ipv6(parsed)
    if verdict.allowed:
        return verdict
    reason = f"{verdict.reason}; --allow-network {ip_network(parsed)} (or COMITY_ALLOW_NETWORKS) allows it"
    return AddressVerdict(False, reason, str(parsed))


def decide_port(port: int) -> AddressVerdict:
    """Judge the port of a URL: every port is allowed except those of other protocols."""
    if port in _OTHER_PROTOCOLS or port > 65535:
        return AddressVerdict(False, f"port {port} is not used for HTTP")
    return _PUBLIC


def decide_name(hostname: str, allowed_networks: Sequence[Network] = ()) -> AddressVerdict:
    """Judge a URL's host without looking it up: all that can be done when a proxy dials.

    Literal addresses and `localhost` (RFC 6761 §6.3) are judged; only the proxy knows where other names lead.
    """
    bare = hostname.removeprefix("[").removesuffix("]").rstrip(".").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return decide("127.0.0.1", allowed_networks)
    if ":" in bare or bare.replace(".", "").isdigit():
        return decide(bare, allowed_networks)
    return _PUBLIC


def _allowing_network(address: IPv4Address | IPv6Address, allowed: Sequence[Network]) -> Network | None:
    """The allowed network that contains the address, or the IPv4 address that it maps to."""
    if not allowed:
        return None
    candidates: list[IPv4Address | IPv6Address] = [address]
    if isinstance(address, IPv6Address) and address in _MAPPED:
        candidates.append(_last_four_bytes(address))
    return next((network for network in allowed for candidate in candidates if candidate in network), None)


def _decide_ipv4(address: IPv4Address) -> AddressVerdict:
    for block, name in _IPV4_BLOCKS:
        if address in block:
            return AddressVerdict(False, f"{address} is in {block}: {name}")
    return _PUBLIC


def _decide_ipv6(address: IPv6Address) -> AddressVerdict:
    if address in _NAT64:
        inner = _decide_ipv4(_last_four_bytes(address))
        if inner.allowed:
            return AddressVerdict(True, "public, through NAT64 (RFC 6052)")
        return AddressVerdict(False, f"{address} is in {_NAT64}: NAT64 (RFC 6052), and {inner.reason}")
    for block, name in _IPV6_BLOCKS:
        if address in block:
            return AddressVerdict(False, f"{address} is in {block}: {name}{_what_it_carries(address)}")
    if address not in _GLOBAL_UNICAST:
        return AddressVerdict(False, f"{address} is outside {_GLOBAL_UNICAST}: not global unicast (RFC 4291)")
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP_MARKS:
        return AddressVerdict(False, f"{address} is an ISATAP address (RFC 5214)")
    return _PUBLIC


def _what_it_carries(address: IPv6Address) -> str:
    """Name the IPv4 address inside a tunnel's address, and its block, for the evidence."""
    if address.sixtofour is not None:
        inner = address.sixtofour
    elif address.teredo is not None:
        inner = address.teredo[1]
    elif int(address) >> 64 == 0 and int(address) > 1:  # mapped, translated and compatible
        inner = _last_four_bytes(address)
    else:
        return ""
    verdict = _decide_ipv4(inner)
    return f", carrying {inner}" if verdict.allowed else f", and {verdict.reason}"


def _last_four_bytes(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)
