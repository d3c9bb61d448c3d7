"""/admin/assets: the stylesheet, the scripts and the icon of the console; nothing comes from elsewhere.

The path has a digest of all files, so that browsers may keep them for a year and still get a new version at once.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from fastapi import Response

from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError

router = Router(Audience.PUBLIC, prefix="/admin/assets", include_in_schema=False)
_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def asset(name: str) -> bytes:
    """The content of a file."""
    return files("comity.doors.web.console").joinpath("assets", name).read_bytes()


@cache
def version() -> str:
    """A digest of all files."""
    digest = sha256()
    for name in sorted(_TYPES):
        digest.update(asset(name))
    return digest.hexdigest()[:16]


@router.get("/{digest}/{name}")
async def show(digest: str, name: str) -> Response:
    """Send one file."""
    if name not in _TYPES:
        raise ApiError(404, "not_found", "there is no such file")
    kept = "public, max-age=31536000, immutable" if digest == version() else "no-store"
    return Response(asset(name), media_type=_TYPES[name], headers={"Cache-Control": kept})
