"""A cookie that a site set on the way to a page. It lives as long as one visit, and is stored nowhere."""

from __future__ import annotations

from typing import NamedTuple


class Cookie(NamedTuple):
    """One cookie, with where it may be sent (RFC 6265 §5.3)."""

    name: str
    value: str
    domain: str
    is_host_only: bool
    port: str
    """Empty for the usual ports. Hosts of different ports are different hosts here, so it goes to no other port."""
    path: str
    is_secure: bool
    expires_at: float | None = None

    def __repr__(self) -> str:
        """Without the value: a cookie may be as good as a password."""
        return f"Cookie({self.name!r} for {self.domain}{self.path})"
