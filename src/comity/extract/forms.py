"""Forms of a page: takes a body, returns the form to send, or what is wrong with it; and whether a page looks right."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from comity.extract.decode import MAX_BODY_BYTES, parse_html
from comity.model.dataclass import dataclass
from comity.model.fetch import FormLogin, LoginCheck
from comity.rules.canonical import WebAddress, resolve_link

if TYPE_CHECKING:
    from turbohtml import Document, Element

_MOST_FORMS: Final = 200
_MOST_FIELDS: Final = 500
_BUTTONS: Final = "button,input[type=submit],input[type=image]"
_NO_SUBMIT: Final = frozenset({"button", "reset"})
_URLENCODED: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form as it is sent: where to, and its fields with what the page put into them (CSRF tokens among them)."""

    address: WebAddress
    body: bytes = field(repr=False)
    content_type: str = _URLENCODED


def is_selector(text: str) -> bool:
    """Whether a text is a CSS selector."""
    try:
        parse_html(b"", "text/html").select(text)
    except ValueError:
        return False
    return True


def fill_form(body: bytes, content_type: str | None, url: str, login: FormLogin) -> FilledForm | str:
    """Fill in the form of a login page; a sentence if that cannot be done."""
    document = parse_html(body[:MAX_BODY_BYTES], content_type)
    names = [name for name, _value in login.fields]
    form = _chosen(document, login.form) if login.form is not None else _fitting(document, names)
    if form is None:
        wanted = login.form if login.form is not None else f"the fields {', '.join(names)}"
        return f"there is no form with {wanted} on {url}"
    if str(form.attr("method") or "get").strip().lower() != "post":
        return f"the form on {url} uses GET, which would put the password into a URL; it must use POST"
    if "multipart" in str(form.attr("enctype") or "").lower():
        return f"the form on {url} is sent as multipart/form-data, which is not supported"
    base = document.select_one("base[href]")
    base_url = resolve_link(str(base.attr("href")), url) if base is not None else None
    address = resolve_link(str(form.attr("action") or url), base_url.url if base_url is not None else url)
    if address is None:
        return f"the form on {url} does not lead to an http or https URL"
    own = dict(login.fields)
    known = _names(form)
    if missing := [name for name in names if name not in known]:
        return f"the form on {url} has no field {missing[0]}; it has {', '.join(sorted(known)[:20])}"
    pairs = [pair for pair in form.form_data()[:_MOST_FIELDS] if pair[0] not in own]
    pairs += [pair for pair in _button(form) if pair[0] not in own]
    return FilledForm(address, _encoded([*pairs, *login.fields], document.encoding))


def passes(check: LoginCheck, body: bytes, content_type: str | None, url: str) -> bool:
    """Whether a page is what a login should lead to."""
    if check.url is not None and not _is_at(check.url, url):
        return False
    if check.selector is None and check.text is None:
        return True
    document = parse_html(body[:MAX_BODY_BYTES], content_type)
    if check.selector is not None and document.select_one(check.selector) is None:
        return False
    return check.text is None or check.text in document.text


def shows_logged_out(body: bytes, content_type: str | None, url: str, login: FormLogin, *, may_parse: bool) -> bool:
    """Whether a page is what a client without a session gets: it has the login form, or passes the `ended` check.

    Nearly every page is decided by a search for a few bytes. A page that costs too much to parse here is decided by
    the names of the form's fields alone.
    """
    ended = login.ended
    is_cheap = may_parse or (ended is not None and ended.selector is None and ended.text is None)
    if ended is not None and is_cheap and passes(ended, body, content_type, url):
        return True
    if b"assword" not in body and b"ASSWORD" not in body:  # every form that asks for one names the type of its field
        return False
    names = [name for name, _value in login.fields]
    if not all(_is_named_in(body, name) for name in names):
        return False
    if not may_parse:
        return True
    form = _fitting(parse_html(body[:MAX_BODY_BYTES], content_type), names)
    return form is not None and form.select_one("input[type=password]") is not None


def _is_named_in(body: bytes, name: str) -> bool:
    written = name.encode()
    return any(each in body for each in (b'"%b"' % written, b"'%b'" % written, b"=%b" % written))


def _is_at(wanted: str, url: str) -> bool:
    """Whether a URL is the wanted one, or below it: `/account` covers `/account/orders` and `/account?tab=1`."""
    where = url if "://" in wanted else url[url.index("/", 8) :]
    if not where.startswith(wanted):
        return False
    rest = where[len(wanted) :]
    return not rest or wanted.endswith(("/", "?")) or rest[0] in "/?#"


def _chosen(document: Document, selector: str) -> Element | None:
    """The form that a selector names, or the form around what it names."""
    found = document.select_one(selector)
    return None if found is None else found if found.tag == "form" else found.closest("form")


def _fitting(document: Document, names: list[str]) -> Element | None:
    """The form with all of the fields; of several, the one that asks for a password."""
    forms = [form for form in document.select("form")[:_MOST_FORMS] if set(names) <= _names(form)]
    asking = [form for form in forms if form.select_one("input[type=password]") is not None]
    return next(iter(asking or forms), None)


def _names(form: Element) -> set[str]:
    controls = form.select("input[name],select[name],textarea[name],button[name]")[:_MOST_FIELDS]
    return {str(control.attr("name")) for control in controls}


def _button(form: Element) -> list[tuple[str, str]]:
    """What the default button adds: the first that sends the form (WHATWG HTML §4.10.21.2)."""
    for button in form.select(_BUTTONS):
        if str(button.attr("type") or "submit").lower() not in _NO_SUBMIT:
            name = button.attr("name")
            return [(str(name), str(button.attr("value") or ""))] if name else []
    return []


def _encoded(pairs: list[tuple[str, str]], encoding: str | None) -> bytes:
    """The body of the request, in the encoding of the page."""
    try:
        return urlencode(pairs, encoding=encoding or "utf-8", errors="xmlcharrefreplace").encode("ascii")
    except LookupError:  # an encoding of the Web that Python does not have
        return urlencode(pairs).encode("ascii")
