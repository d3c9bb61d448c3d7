"""The kind of an error, as users of the crawler extension for DuckDB know them: from what a row says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KINDS: Final[Mapping[str, str]] = {
    "dns_failure": "network_dns_failure",
    "connect_failure": "network_connection_refused",
    "connection_failure": "network_connection_refused",
    "server_errors": "http_server_error",
    "forbidden": "http_client_error",
    "reset": "network_connection_reset",
    "tls_failure": "network_ssl_error",
    "certificate_refused": "network_ssl_error",
    "connect_timeout": "network_timeout",
    "first_byte_timeout": "network_timeout",
    "idle_timeout": "network_timeout",
    "total_timeout": "network_timeout",
    "too_large": "content_too_large",
    "decompression_bomb": "content_too_large",
    "wrong_type": "content_type_rejected",
    "blocked_by_robots": "robots_disallowed",
    "robots_unreachable": "robots_unreachable",
    "http_429": "http_rate_limited",
}


def error_type(error: str | None) -> str | None:
    """The kind of an error; one that has no other name keeps Comity's code."""
    if error is None:
        return None
    code = error.partition(":")[0].strip()
    if code in _KINDS:
        return _KINDS[code]
    if code.startswith("http_"):
        return "http_server_error" if code.startswith("http_5") else "http_client_error"
    return code
