"""/docs: the description of the API for people; everything on the page comes from this server."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

from comity.doors.web.api_page import api_page
from comity.doors.web.api_page_style import STYLE_HASH
from comity.doors.web.guard import HEADERS

_POLICY: Final = f"{HEADERS['Content-Security-Policy']}; style-src {STYLE_HASH}"

router = APIRouter()


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show what can be asked, with parameters, schemas and examples."""
    return HTMLResponse(_page(request.app), headers={"Content-Security-Policy": _POLICY})


@lru_cache(maxsize=4)
def _page(app: FastAPI) -> str:
    description: dict[str, Any] = app.openapi()
    return api_page(description)
