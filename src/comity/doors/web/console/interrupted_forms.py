"""Forms that are sent after their session has ended: what was entered is carried through the login, and sent again.

Our own form page leaves, a page that asks leaves. What was entered stays with the browser, in hidden fields; a
person sends it again, with a token of the new session. So a page of another site gains nothing: its forms are refused.
"""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qsl, quote

from fastapi import Request
from fastapi.responses import HTMLResponse

from comity.doors.web.access import CSRF_FIELD
from comity.doors.web.console.components import cut, words
from comity.doors.web.console.forms import MOST_FIELDS, Field, Form
from comity.doors.web.console.page import PREFIX, render
from comity.model.dataclass import dataclass

LOGIN_FORM: Final = Form(
    (
        Field("user", "User", required=True, attributes={"autocomplete": "username", "autocapitalize": "none"}),
        Field("password", "Password", "password", required=True, attributes={"autocomplete": "current-password"}),
        Field("next", "", "hidden"),
        Field("unsent", "", "hidden"),
    ),
    {"user": "admin"},
)
_LONGEST_VALUE: Final = 120
_MOST_SHOWN: Final = 12
_SECRET_NAMES: Final = ("password", "secret", "token", "key")


@dataclass(frozen=True, slots=True)
class Unsent:
    """What a form was to send, and the path of the console that it was for."""

    path: str
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of_body(cls, path: str, body: bytes) -> Unsent | None:
        """From the body of a request to a path with `/admin`; None if it cannot be read."""
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
        except ValueError:
            return None
        kept = tuple((name, value) for name, value in pairs if name != CSRF_FIELD)
        return cls(quote(path.removeprefix(PREFIX)), kept)

    @classmethod
    def of_text(cls, text: str) -> Unsent | None:
        """From a hidden field; None if it holds nothing that a page of the console wrote."""
        try:
            path, pairs = json.loads(text)
            kept = tuple((str(name), str(value)) for name, value in pairs)
        except (ValueError, TypeError, RecursionError):
            return None
        return cls(path, kept) if isinstance(path, str) and is_inside(path) else None

    def as_text(self) -> str:
        """For a hidden field."""
        return json.dumps([self.path, self.pairs])

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What a person sees of it, without secrets."""
        found = [
            (words(name).capitalize(), "…" if _is_secret(name) else cut(value.strip(), _LONGEST_VALUE))
            for name, value in self.pairs
            if value.strip()
        ]
        return found[:_MOST_SHOWN]


def is_inside(wanted: str) -> bool:
    """Whether a text is a path of the console, and leads to no other site and not to the login."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return is_path and "\\" not in wanted and not wanted.startswith("/login")


def login_page(request: Request, form: Form, status: int = 200) -> HTMLResponse:
    """Ask for a name and a password."""
    settings = request.app.state.services.access.settings
    # Browsers drop a Secure cookie that comes without TLS, except from this machine.
    host = request.url.hostname or ""
    needs_tls = not settings.is_dev and request.url.scheme != "https" and host not in ("localhost", "127.0.0.1", "::1")
    return render(request, "login/page.html", title="Log in", form=form, needs_tls=needs_tls, status=status)


def login_for(request: Request, unsent: Unsent) -> HTMLResponse:
    """Ask who sent a form without a session to log in; what was entered comes along."""
    settings = request.app.state.services.access.settings
    user = "admin" if settings.password_hash is not None else ""
    return login_page(request, LOGIN_FORM.filled({"user": user, "unsent": unsent.as_text()}), 401)


def ask_to_send(request: Request, unsent: Unsent, reason: str, status: int = 200) -> HTMLResponse:
    """Ask whether to send what was entered before the login."""
    return render(request, "login/unsent.html", title="Send it now?", unsent=unsent, reason=reason, status=status)


def _is_secret(name: str) -> bool:
    return any(each in name.lower() for each in _SECRET_NAMES)
