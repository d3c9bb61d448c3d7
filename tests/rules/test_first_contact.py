"""Whether a failed https request shows that there is no https."""

from __future__ import annotations

import pytest

from comity.model.fetch import FailureKind
from comity.rules.address_guard import decide, decide_port, parse_networks
from comity.rules.responses import lacks_tls, without_tls

TLS = "TLS connect error: error:0A00010B:SSL routines::"


@pytest.mark.parametrize(
    ("kind", "detail", "lacks"),
    [
        (FailureKind.CONNECT_FAILURE, "Connection refused", True),
        (FailureKind.CONNECT_TIMEOUT, "no connection after 10 s", True),
        (FailureKind.TLS_FAILURE, f"{TLS}wrong version number", True),
        (FailureKind.TLS_FAILURE, f"{TLS}unexpected eof while reading", True),
        (FailureKind.TLS_FAILURE, "Recv failure: Connection reset by peer", True),
        (FailureKind.TLS_FAILURE, f"{TLS}packet length too long", True),
        # Something that speaks TLS answered, or the name is wrong, or we refuse: http would be no better, or less.
        (FailureKind.TLS_FAILURE, f"{TLS}ssl/tls alert handshake failure", False),
        (FailureKind.TLS_FAILURE, f"{TLS}tlsv1 alert protocol version", False),
        (FailureKind.TLS_FAILURE, f"{TLS}tlsv1 unrecognized name", False),
        (FailureKind.TLS_FAILURE, f"{TLS}unsupported protocol", False),
        (FailureKind.CERTIFICATE_REFUSED, "SSL certificate problem: certificate has expired", False),
        (FailureKind.DNS_FAILURE, "Could not resolve host", False),
        (FailureKind.ADDRESS_REFUSED, "127.0.0.1 is in 127.0.0.0/8", False),
        (FailureKind.FIRST_BYTE_TIMEOUT, "no response after 20 s", False),
        (FailureKind.RESET, "Recv failure: Connection reset by peer", False),
    ],
)
def test_only_what_does_not_speak_tls_lacks_it(kind: FailureKind, detail: str, lacks: bool) -> None:
    assert lacks_tls(kind, detail) is lacks


def test_the_same_address_without_tls() -> None:
    assert without_tls("https://example.com:8080/a?b") == "http://example.com:8080/a?b"
    assert without_tls("http://example.com/") is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("127.0.0.1", "127.0.0.1/32"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("169.254.169.254", "169.254.169.254/32"),
        ("::1", "::1/128"),
        ("fc00::1", "fc00::1/128"),
        ("::ffff:10.0.0.1", "::ffff:a00:1/128"),
        ("64:ff9b::a00:1", "64:ff9b::a00:1/128"),
    ],
)
def test_a_refusal_names_the_option_that_lifts_it_and_the_option_does(address: str, network: str) -> None:
    refusal = decide(address)
    assert refusal.reason.endswith(f"; --allow-network {network} (or COMITY_ALLOW_NETWORKS) allows it")
    assert refusal.address is not None
    assert decide(refusal.address, parse_networks([network])).allowed
    assert not decide(refusal.address, parse_networks(["192.0.2.0/24"])).allowed


def test_a_refused_port_names_no_address_that_a_network_could_hold() -> None:
    assert (decide_port(22).allowed, decide_port(22).address) == (False, None)
    assert decide("no address").address is None
