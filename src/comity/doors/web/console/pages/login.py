"""/admin/login, /admin/logout and /admin/account: begin and end a session in a browser."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse

from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.page import PageRouter, redirect, render
from comity.doors.web.errors import ApiError
from comity.doors.web.routes.session import end_all_sessions, end_session, start_session
from comity.doors.web.services import CurrentCaller, Services

login_router = PageRouter(before_login=True)
router = PageRouter(any_role=True)
_LONGEST: Final = 1024
_MOST_FIELDS: Final = 2000
FORM: Final = Form(
    (
        Field("user", "User", required=True, attributes={"autocomplete": "username", "autocapitalize": "none"}),
        Field("password", "Password", "password", required=True, attributes={"autocomplete": "current-password"}),
        Field("next", "", "hidden"),
    ),
    {"user": "admin"},
)
Next = Annotated[str, Query(alias="next", max_length=2000)]


@login_router.get("/login")
async def login_page(request: Request, services: Services, caller: CurrentCaller, wanted: Next = "") -> Response:
    """Ask for a name and a password; a browser that is logged in, or needs no login, goes on."""
    if caller.session is not None or not await services.access.has_login():
        return redirect(request, _inside(wanted))
    user = "admin" if services.access.settings.password_hash is not None else ""
    return _page(request, services, FORM.filled({"user": user, "next": wanted}))


@login_router.post("/login")
async def log_in(request: Request, services: Services, caller: CurrentCaller, entered: PostedForm) -> Response:
    """Log in, and go on to the page that was asked for."""
    user, password = entered.get("user"), await _password(request)
    if not user or not password or len(user) > 64 or len(password) > _LONGEST:
        missing = {name: "Enter it." for name, value in (("user", user), ("password", password)) if not value}
        return _refused(request, services, entered, missing or {"": "The user name or the password is wrong."}, 422)
    response = redirect(request, _inside(entered.get("next")))
    try:
        await start_session(request, response, services, caller, user, password)
    except ApiError as error:
        if error.status not in (401, 403, 429):
            raise
        message = str(error)
        refused = _refused(request, services, entered, {"": f"{message[:1].upper()}{message[1:]}."}, error.status)
        refused.headers.update({} if error.headers is None else dict(error.headers))
        return refused
    return response


@router.post("/logout")
async def log_out(request: Request, services: Services, caller: CurrentCaller) -> Response:
    """Log out of this browser."""
    response = redirect(request, "/login")
    await end_session(response, services, caller)
    return response


@router.get("/account")
def account(request: Request, caller: CurrentCaller) -> Response:
    """Show who is logged in, and ways to log out."""
    return render(request, "login/account.html", title="Account", caller_=caller)


@router.post("/account/logout")
async def log_out_everywhere(request: Request, services: Services, caller: CurrentCaller) -> Response:
    """End every session of the user."""
    response = redirect(request, "/login")
    await end_all_sessions(response, services, caller)
    return response


async def _password(request: Request) -> str:
    """The password as it was entered: spaces around it belong to it."""
    fields = parse_qsl((await request.body()).decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    return next((value for name, value in fields if name == "password"), "")


def _refused(
    request: Request, services: Services, entered: PostedForm, errors: dict[str, str], status: int
) -> Response:
    return _page(request, services, FORM.refused(entered, FormInvalid(errors)), status)


def _page(request: Request, services: Services, form: Form, status: int = 200) -> HTMLResponse:
    settings = services.access.settings
    # Browsers drop a Secure cookie that comes without TLS, except from this machine.
    host = request.url.hostname or ""
    needs_tls = not settings.is_dev and request.url.scheme != "https" and host not in ("localhost", "127.0.0.1", "::1")
    return render(request, "login/page.html", title="Log in", form=form, needs_tls=needs_tls, status=status)


def _inside(wanted: str) -> str:
    """A path of the console; anything else leads to its start."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_path and "\\" not in wanted and not wanted.startswith("/login") else "/"
