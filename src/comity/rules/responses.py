"""What a response shows besides its content: a login wall, or a host without TLS.

A page that merely contains a login form is not a login wall. A host that was named without a scheme is tried by https
first, and by http only if there is no TLS: a refused certificate or a TLS alert is still https, because an attacker who
can break TLS could force the downgrade.
"""

from __future__ import annotations

import re
from typing import Final

from comity.model.fetch import FailureKind

_LOGIN_PATH: Final = re.compile(
    r"(?:^|[/_.-])(?:log[-_]?in|sign[-_]?in|sign[-_]?on|sso|auth(?:enticate|orize)?|session/new|anmelden)(?:[/_.?-]|$)",
    re.IGNORECASE,
)
_FEW_LINKS: Final = 10
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


def is_login_wall(
    *, status: int, requested_url: str, final_url: str, has_password_field: bool, link_count: int, title: str | None
) -> bool:
    """Whether a response is a login wall instead of the page.

    A 401 is one. Any other response must ask for a password, and either come from a redirect to a login page or contain
    next to nothing else.
    """
    if status == 401:
        return True
    if not has_password_field:
        return False
    if is_login_address(requested_url):
        return False
    sent_to_login = requested_url != final_url and is_login_address(final_url)
    return sent_to_login or (
        link_count < _FEW_LINKS and _LOGIN_PATH.search(f"/{(title or '').replace(' ', '-')}/") is not None
    )


def is_login_address(url: str) -> bool:
    """Whether a URL names a login page: a login form there says nothing about the rest of the site."""
    if url.isascii():
        # Every such path contains one of these. The check runs for every page, and this is the cheapest way.
        said = url.lower()
        may_be = "log" in said or "sign" in said or "sso" in said or "auth" in said or "session" in said
        if not may_be and "anmelden" not in said:
            return False
    start = url.find("/", url.find("//") + 2)
    path = url[start:].partition("#")[0].partition("?")[0] if start >= 0 else ""
    return _LOGIN_PATH.search(path) is not None


def lacks_tls(kind: FailureKind, detail: str) -> bool:
    """Whether an https request failed because there is no TLS server at its address."""
    if kind in _SILENT:
        return True
    said = detail.lower()
    return kind is FailureKind.TLS_FAILURE and "alert" not in said and any(words in said for words in _NOT_TLS)


def without_tls(url: str) -> str | None:
    """The same address without TLS, for an https URL: `https://example.com/` gives `http://example.com/`."""
    return "http://" + url.removeprefix("https://") if url.startswith("https://") else None
