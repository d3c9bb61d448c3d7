"""Rendering: the name of a template and its values enter, a page in the layout of the console leaves.

Everything is escaped unless a component made it; a template that names an unknown value is an error, not an empty text.
The stylesheet, the scripts and the icon are at /admin/assets; nothing comes from elsewhere. Their path has a digest of
all files, so that browsers may keep them for a year and still get a new version at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from comity import __version__
from comity.doors.web.access import not_operator
from comity.doors.web.audiences import LARGE_BODY_BYTES, Audience, Router
from comity.doors.web.console import components
from comity.doors.web.errors import ApiError
from comity.doors.web.notices import Offer, notice_of, set_notice
from comity.doors.web.requests import FORM, VARY
from comity.model.dataclass import dataclass

if TYPE_CHECKING:
    from comity.doors.web.services import WebServices

assets_router = Router(Audience.PUBLIC, prefix="/admin/assets", include_in_schema=False)
_ASSET_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
PREFIX: Final = "/admin"
PAGE_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # With no-referrer, browsers send `Origin: null` with a form, and its origin could not be checked.
    "Referrer-Policy": "same-origin",
    "Vary": VARY,
}


@cache
def asset_content(name: str) -> bytes:
    """The content of a file."""
    return files("comity.doors.web.console").joinpath("assets", name).read_bytes()


@cache
def assets_version() -> str:
    """A digest of all files."""
    digest = sha256()
    for name in sorted(_ASSET_TYPES):
        digest.update(asset_content(name))
    return digest.hexdigest()[:16]


@assets_router.get("/{digest}/{name}")
async def show_asset(digest: str, name: str) -> Response:
    """Send one file."""
    if name not in _ASSET_TYPES:
        raise ApiError(404, "not_found", "there is no such file")
    caching = "public, max-age=31536000, immutable" if digest == assets_version() else "no-store"
    return Response(asset_content(name), media_type=_ASSET_TYPES[name], headers={"Cache-Control": caching})


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the navigation: its path below the prefix, and the letter that goes there (`g`, then the letter)."""

    name: str
    label: str
    path: str
    icon: str
    letter: str


@dataclass(frozen=True, slots=True)
class Group:
    """Sections that stand together; the first group has no label."""

    label: str
    sections: tuple[Section, ...]


GROUPS: Final = (
    Group("", (Section("dashboard", "Dashboard", "/", "dashboard", "d"),)),
    Group(
        "Crawl",
        (
            Section("sources", "Sources", "/sources", "sources", "s"),
            Section("crawl", "Crawl", "/crawl", "crawl", "c"),
            Section("hosts", "Hosts", "/hosts", "hosts", "h"),
            Section("queue", "Queue", "/queue", "queue", "q"),
        ),
    ),
    Group(
        "Found",
        (
            Section("pages", "Pages", "/pages", "pages", "p"),
            Section("audits", "Audits", "/audits", "audits", "a"),
            Section("postings", "Job postings", "/postings", "postings", "j"),
        ),
    ),
    Group(
        "System",
        (
            Section("takedowns", "Takedowns", "/takedowns", "takedowns", "t"),
            Section("activity", "Activity", "/activity", "activity", "l"),
            Section("settings", "Settings", "/settings", "settings", "e"),
        ),
    ),
)
_SHARED_TEMPLATES: Final = ("layout.html", "macros.html", "keys.html", "key_list.html")
SECTIONS: Final = tuple(section for group in GROUPS for section in group.sections)


class PageRouter(Router):
    """A router of pages: they answer browsers only, and take the bodies of forms. The prefix includes `/admin`."""

    def __init__(
        self,
        prefix: str = PREFIX,
        *,
        audience: Audience = Audience.ADMIN,
        before_login: bool = False,
        any_role: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            audience,
            max_body_bytes=LARGE_BODY_BYTES,
            content_types=(FORM,),
            before_login=before_login,
            any_role=any_role,
            serves_pages=True,
            prefix=prefix,
            include_in_schema=False,
            default_response_class=HTMLResponse,
            **options,
        )


@dataclass(frozen=True, slots=True)
class Viewing:
    """What components know about the request that they are rendered for."""

    prefix: str = PREFIX
    csrf_token: str = ""
    may_write: bool = False
    services: WebServices | None = None


_viewing: ContextVar[Viewing] = ContextVar("viewing", default=Viewing())  # noqa: B039 -- it is frozen


@contextmanager
def viewing(value: Viewing) -> Iterator[None]:
    """Render for a request until the end of the block."""
    token = _viewing.set(value)
    try:
        yield
    finally:
        _viewing.reset(token)


def viewing_of(request: Request) -> Viewing:
    """What a request may see and do. A request that was refused before it was admitted has no caller."""
    caller = getattr(request.state, "caller", None)
    services = getattr(request.app.state, "services", None)
    return Viewing(
        prefix=services.access.settings.prefix if services is not None else PREFIX,
        csrf_token=caller.csrf_token if caller is not None else "",
        may_write=caller is not None and caller.may_write,
        services=services,
    )


async def _require_operator(request: Request) -> None:
    if not viewing_of(request).may_write:
        raise not_operator()


# For GET routes of forms and questions: a viewer who follows such a link should not fill it in for nothing.
FOR_OPERATORS: Final = [Depends(_require_operator)]


def current_services() -> WebServices:
    """The services of the application whose page is being rendered."""
    services = _viewing.get().services
    assert services is not None, "no page is being rendered"
    return services


def url(path: str, *segments: object, **query: object) -> str:
    """A path of the console, with its prefix: `url("/hosts", host, status="blocked")`. Works while a page is rendered.

    Segments and values are quoted; a value that is None or empty is left out.
    """
    parts = "".join(f"/{quote(str(each), safe='')}" for each in segments)
    sent = urlencode({name: value for name, value in query.items() if value is not None and value != ""})
    return _viewing.get().prefix + ("" if path == "/" else path) + parts + (f"?{sent}" if sent else "")


def asset_url(name: str) -> str:
    """Where the browser finds a file of the console."""
    return f"{_viewing.get().prefix}/assets/{assets_version()}/{name}"


def csrf_field() -> Markup:
    """The hidden field that every form with a POST has."""
    return Markup('<input type="hidden" name="csrf_token" value="{}">').format(_viewing.get().csrf_token)


@cache
def templates() -> Environment:
    """The templates, with every component as a function."""
    from comity.doors.web.console import live, plots

    environment = Environment(
        loader=PackageLoader("comity.doors.web.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(
        asset=asset_url,
        badge=components.badge,
        bounded=components.bounded,
        coded=components.coded,
        csrf_field=csrf_field,
        duration=components.duration,
        holder=components.holder,
        icon=components.icon,
        live=live.region,
        meter=components.meter,
        nothing=components.NOTHING,
        number=components.number,
        outside_link=components.outside_link,
        plots=plots,
        plural=components.plural,
        shortened=components.shortened,
        size=components.size,
        url=url,
        Markup=Markup,
        when=components.when,
        words=components.words,
        version=__version__,
        navigation=GROUPS,
    )
    return environment


def prepare() -> None:
    """Compile the templates that every page needs, which takes ten times as long as to render one."""
    for name in _SHARED_TEMPLATES:
        templates().get_template(name)


def render(
    request: Request,
    template: str,
    *,
    title: str,
    section: str = "",
    status: int = 200,
    trail: Sequence[tuple[str, str]] = (),
    wide: bool = False,
    **context: Any,
) -> HTMLResponse:
    """Render a page. `trail` are the pages above it, as (label, path); `section` marks its entry in the navigation."""
    view = viewing_of(request)
    notice = notice_of(request)
    caller = getattr(request.state, "caller", None)
    with viewing(view):
        content = (
            templates()
            .get_template(template)
            .render(
                title=title,
                section=section,
                trail=trail,
                wide=wide,
                notice=notice,
                may_write=view.may_write,
                viewer=caller.session if caller is not None else None,
                path=request.url.path,
                **context,
            )
        )
    return HTMLResponse(content, status, PAGE_HEADERS)


def fragment(template: str, **context: Any) -> str:
    """Render a template without the layout, for a live region or a part that htmx replaces."""
    return templates().get_template(template).render(may_write=_viewing.get().may_write, **context)


def render_fragment(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Answer an htmx request with a fragment."""
    with viewing(viewing_of(request)):
        return HTMLResponse(fragment(template, **context), status, PAGE_HEADERS)


def redirect(
    request: Request, path: str, *, notice: str = "", kind: str = "good", offer: Offer | None = None
) -> RedirectResponse:
    """Answer a form: the browser continues to a page of the console (`/sources`), which shows the notice once.

    `offer` is a button beside the notice that takes back what was done.
    """
    view = viewing_of(request)
    if view.services is not None:
        view.services.live.expire()  # the page shows what the form did
        view.services.figures.expire()
    with viewing(view):
        response = RedirectResponse(url(path), 303, PAGE_HEADERS)
    if notice:
        set_notice(request, response, notice, kind, offer)
    return response
