"""First contact with a host that was named without a scheme: https first, http only if there is no TLS.

Takes a failed request; returns whether it shows that there is no https. A refused certificate or a TLS alert is still
https: then http is not tried, because an attacker who can break TLS could force the downgrade.
"""

from __future__ import annotations

from typing import Final

from comity.model.fetch import FailureKind

NO_TLS: Final = "there is no TLS server"
_SILENT: Final = frozenset({FailureKind.CONNECT_FAILURE, FailureKind.CONNECT_TIMEOUT})
# OpenSSL's errors if the other side is no TLS server: it answered in another protocol, or hung up.
_NOT_TLS: Final = (
    "wrong version number",
    "unexpected eof",
    "reset by peer",
    "packet length too long",
    "record layer failure",
    "http request",
    "unknown protocol",
)


def lacks_tls(kind: FailureKind, detail: str) -> bool:
    """Whether an https request failed because there is no TLS server at its address."""
    if kind in _SILENT:
        return True
    said = detail.lower()
    return kind is FailureKind.TLS_FAILURE and "alert" not in said and any(words in said for words in _NOT_TLS)


def without_tls(url: str) -> str | None:
    """The same address without TLS, for an https URL: `https://example.com/` gives `http://example.com/`."""
    return "http://" + url.removeprefix("https://") if url.startswith("https://") else None
