"""A site behind a form login, with a CSRF token, for tests and for the examples of the documentation."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from tests.walk.site import Answer, Asked, Site, Web, page

USER, PASSWORD = "reader", "pa55-word&secret"
SESSION = "s3ssion-0f-a-reader"
TOKEN = "csrf-4711"


def login_form(**attributes: str) -> str:
    """The form: two fields, a hidden one, a box that is ticked, and the button."""
    form = {"method": "post", "action": "/login?next=/"} | attributes
    written = " ".join(f'{name}="{value}"' for name, value in form.items())
    return (
        f"<form {written}><input type=hidden name=csrf value={TOKEN}><input name=user><input type=password name=pass>"
        "<input type=checkbox name=stay value=yes checked><button name=do value=enter>Enter</button></form>"
        '<form action="/search"><input name=q></form>'
    )


def behind_login(
    web: Web,
    pages: int = 12,
    *,
    robots: str | None = None,
    has_logout: bool = False,
    outside: Answer | None = None,
    ends_after: int = 0,
    **options: Any,
) -> Site:
    """A site whose pages lead to its login until the session's cookie is sent; a link may end the session.

    Without a session its pages are answered by `outside`, by default with a redirect to the login. A session ends
    after a number of pages, if that is set.
    """
    sessions: set[str] = set()
    refusal = outside or Answer(302, headers={"Location": "/login"})
    served = [0]

    def is_in(asked: Asked) -> bool:
        return bool(sessions) and f"session={SESSION}" in asked.headers.get("cookie", "")

    def leave(_asked: Asked) -> Answer:
        sessions.clear()
        return Answer(302, headers={"Location": "/login", "Set-Cookie": "session=; Path=/; Max-Age=0"})

    def enter(asked: Asked) -> Answer | str:
        if asked.method != "POST":
            return page(title="Sign in", body=login_form())
        sent = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        if sent == {"csrf": TOKEN, "stay": "yes", "do": "enter", "user": USER, "pass": PASSWORD}:
            cookie = f"session={SESSION}; Path=/; HttpOnly"
            sessions.add(SESSION)
            return Answer(303, headers={"Location": "/", "Set-Cookie": cookie})
        return page(title="Sign in", body="<p>Wrong password</p>" + login_form())

    def inside(number: int) -> Any:
        def answer(asked: Asked) -> Answer | str:
            if not is_in(asked):
                return refusal
            served[0] += 1
            if served[0] == ends_after:
                served[0] = 0
                sessions.clear()
            below = [f"/p{child}" for child in (2 * number + 1, 2 * number + 2) if child < pages]
            # Many sites send the session's cookie anew with every page.
            cookie = f"session={SESSION}; Path=/; HttpOnly"
            below += ["/logout"] if has_logout and number == 0 else []
            body = page(*below, title=f"page {number}", body='<p class="account">Signed in</p>')
            return Answer(body=body, headers={"Set-Cookie": cookie})

        return answer

    routes: dict[str, Any] = {"/" if number == 0 else f"/p{number}": inside(number) for number in range(pages)}
    routes |= {"/login": enter, "/login?next=/": enter, "/logout": leave}
    return web.site(routes, robots=robots, **options)


def login_file(
    url: str, *, user: str = "env:SITE_USER", password: str = "env:SITE_PASSWORD", check: str = "", ended: str = ""
) -> str:
    """A login file for the site."""
    check = check or 'selector = ".account"'
    ended = f"\n[ended]\n{ended}\n" if ended else ""
    return f'page = "{url}"\n\n[fields]\nuser = "{user}"\npass = "{password}"\n\n[check]\n{check}\n{ended}'
