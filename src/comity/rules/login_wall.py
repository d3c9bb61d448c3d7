"""Telling a login wall from a page that merely has a login form."""

from __future__ import annotations

import re
from typing import Final

_LOGIN_PATH: Final = re.compile(
    r"(?:^|[/_.-])(?:log[-_]?in|sign[-_]?in|sign[-_]?on|sso|auth(?:enticate|orize)?|session/new|anmelden)(?:[/_.?-]|$)",
    re.IGNORECASE,
)
_FEW_LINKS: Final = 10


def is_login_wall(
    *, status: int, requested_url: str, final_url: str, has_password_field: bool, link_count: int, title: str | None
) -> bool:
    """Whether an answer stands between us and what was asked for.

    401 says so itself. Otherwise a password must be asked for, and either we were sent to a login page that we
    did not ask for, or there is next to nothing else on the page.
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
    """Whether a URL names a login page: to meet one there says nothing about the rest of the site."""
    start = url.find("/", url.find("//") + 2)
    path = url[start:].partition("#")[0].partition("?")[0] if start >= 0 else ""
    return (not path.isascii() or _may_be_login(path.lower())) and _LOGIN_PATH.search(path) is not None


def _may_be_login(path: str) -> bool:
    """One of these is in every such path: every page's address is looked at, and this is the cheapest way."""
    return "log" in path or "sign" in path or "sso" in path or "auth" in path or "session" in path or "anmelden" in path
