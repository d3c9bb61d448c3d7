"""SURT keys: a URL turned round so that sorting groups a site, the way web archives index it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_WWW: Final = re.compile(r"^www\d*\.")


def surt_key(url: str) -> str:
    """Turn a canonical URL into its SURT key: labels reversed, case folded, parameters in order."""
    parts = urlsplit(url)
    host = _WWW.sub("", (parts.hostname or "").lower())
    port = f":{parts.port}" if parts.port is not None else ""
    turned = host if ":" in host or host.rpartition(".")[2].isdigit() else ",".join(reversed(host.split(".")))
    path = parts.path.lower()
    if len(path) > 1:
        path = path.rstrip("/")
    query = "&".join(sorted(parts.query.lower().split("&"))) if parts.query else ""
    return f"{turned}{port}){path or '/'}{'?' + query if query else ''}"
