"""/admin/login, /admin/logout and /admin/account: begin and end a session in a browser."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Query, Request, Response

from comity.doors.web.console.forms import FormInvalid, PostedForm
from comity.doors.web.console.interrupted_forms import LOGIN_FORM, Unsent, ask_to_send, is_inside, login_page
from comity.doors.web.console.page import PageRouter, redirect, render
from comity.doors.web.errors import ApiError
from comity.doors.web.routes.session import end_all_sessions, end_session, start_session
from comity.doors.web.services import CurrentCaller, Services

login_router = PageRouter(before_login=True)
router = PageRouter(any_role=True)
_LONGEST: Final = 1024
_MOST_FIELDS: Final = 2000
Next = Annotated[str, Query(alias="next", max_length=2000)]


@login_router.get("/login")
async def show_login(request: Request, services: Services, caller: CurrentCaller, wanted: Next = "") -> Response:
    """Ask for a name and a password; a browser that is logged in, or needs no login, continues."""
    if caller.session is not None or not await services.access.has_login():
        return redirect(request, _inside(wanted))
    user = "admin" if services.access.settings.password_hash is not None else ""
    return login_page(request, LOGIN_FORM.filled({"user": user, "next": wanted}))


@login_router.post("/login")
async def log_in(request: Request, services: Services, caller: CurrentCaller, entered: PostedForm) -> Response:
    """Log in, and continue to the page that was asked for, or to the form that came without a session."""
    user, password = entered.get("user"), await _password(request)
    if not user or not password or len(user) > 64 or len(password) > _LONGEST:
        missing = {name: "Enter it." for name, value in (("user", user), ("password", password)) if not value}
        return _refused(request, entered, missing or {"": "The user name or the password is wrong."}, 422)
    cookies = Response()
    try:
        request.state.caller = await start_session(request, cookies, services, caller, user, password)
    except ApiError as error:
        if error.status not in (401, 403, 429):
            raise
        message = str(error)
        refused = _refused(request, entered, {"": f"{message[:1].upper()}{message[1:]}."}, error.status)
        refused.headers.update({} if error.headers is None else dict(error.headers))
        return refused
    unsent = Unsent.of_text(entered.get("unsent"))
    if unsent is not None:
        response: Response = ask_to_send(request, unsent, "Your session has ended, so nothing has been changed yet.")
    else:
        response = redirect(request, _inside(entered.get("next")))
    response.headers.append("Set-Cookie", cookies.headers["set-cookie"])
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


def _refused(request: Request, entered: PostedForm, errors: dict[str, str], status: int) -> Response:
    return login_page(request, LOGIN_FORM.refused(entered, FormInvalid(errors)), status)


def _inside(wanted: str) -> str:
    """A path of the console; anything else leads to its start."""
    return wanted if is_inside(wanted) else "/"
