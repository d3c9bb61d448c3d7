"""Read the options for requests, references to secrets and login files, and give each host its identity.

This is the only place that reads a secret. It is read once, when a crawl or a session is put together, and stays in
memory. Errors contain the option and the reference, but never a value.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.fetch import LOGGED_OUT_STATUSES, Cookie, DigestLogin, FormLogin, LoginCheck, Proxy, RequestIdentity
from comity.model.host import HostPolicy
from comity.rules.canonical import origin_of, web_address
from comity.rules.cookies import own_cookie, read_cookie_file
from comity.rules.request_options import (
    MOST_OPTIONS,
    PUBLIC_HEADERS,
    AuthOption,
    CookieOption,
    HeaderOption,
    ProxyOption,
    Reference,
    Value,
    authorization,
    host_of_origin,
    is_cookie_value,
    origin_of_scope,
    origins_reached,
    read_auth,
    read_cookie_option,
    read_header,
    read_proxy,
    read_value,
    sticky_proxy,
)

_MOST_BYTES: Final = 65_536
_MOST_LIST_BYTES: Final = 1 << 20
_LOGIN_KEYS: Final = frozenset({"page", "form", "fields", "check", "ended"})
_CHECK_KEYS: Final = frozenset({"selector", "text", "url"})
_POLICY_LISTS: Final = ("headers", "cookies", "auth", "proxy", "login")


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """The options of a run or of one host's policy, as they were written."""

    headers: Sequence[str] = ()
    cookies: Sequence[str] = ()
    auth: Sequence[str] = ()
    proxy: Sequence[str] = ()
    login: Sequence[str] = ()
    origins: Sequence[str] = ()
    """Where options that name no host are sent."""
    cookie_jar: bool = False
    keep_cookies: bool = False
    collapse_subdomains: bool = False
    """Whether one lease covers a whole registrable domain. Options are still sent to exact host names only."""
    proxy_login: tuple[str | None, str | None] = field(default=(None, None), repr=False)
    """The user and password for proxies whose URLs contain none."""


class Secrets:
    """Resolves references, each once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._known: dict[Reference, str] = {}

    def text(self, field: str, value: Value) -> str:
        """A value with its secret in place."""
        if value.reference is None:
            return value.text
        secret = self.read(field, value.reference).rstrip("\r\n")
        if not secret:
            raise BadInput(field, f"{value.reference} is empty")
        if not secret.isprintable() and any(ord(character) < 32 or ord(character) == 127 for character in secret):
            raise BadInput(field, f"{value.reference} contains a line break or another control character")
        return f"{value.text} {secret}" if value.text else secret

    def read(self, field: str, reference: Reference, most_bytes: int = _MOST_BYTES) -> str:
        """The whole value of a reference."""
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = self._read(field, reference, most_bytes)
        return known

    def _read(self, field: str, reference: Reference, most_bytes: int) -> str:
        if reference.kind == "env":
            found = self._environment.get(reference.name)
            if found is None:
                raise BadInput(field, f"the environment variable {reference.name} is not set")
            return found
        return read_text(field, reference.name, most_bytes)


def read_text(field: str, path: str, most_bytes: int) -> str:
    """A small text file; `BadInput` if it cannot be read."""
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(most_bytes + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        raise BadInput(
            field, f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        ) from None
    if len(data) > most_bytes:
        raise BadInput(field, f"{path} is larger than {most_bytes:,} bytes")
    return text


@dataclass(slots=True)
class _Parts:
    """What has been collected for one host so far."""

    headers: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    cookies: list[Cookie] = field(default_factory=list)
    digests: dict[str, DigestLogin] = field(default_factory=dict)
    login: FormLogin | None = None
    wants_jar: bool = False
    keeps: bool = False

    def add_header(self, origin: str, name: str, value: str) -> None:
        for reached in origins_reached(origin):
            self.headers.setdefault(reached, {})[name.lower()] = (name, value)

    def add_digest(self, origin: str, digest: DigestLogin) -> None:
        for reached in origins_reached(origin):
            self.digests[reached] = digest


class RequestOptions:
    """The options of a run, read and checked; says what the requests to each host carry."""

    def __init__(self, texts: OptionTexts, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self._environment = environment
        self._now = now
        self._texts = texts
        self._parts = _read_parts(texts, Secrets(environment), now())
        proxies = read_proxies("proxy", texts.proxy, Secrets(environment))
        if texts.proxy_login[0] is not None:
            proxies = tuple(Proxy(each.url, *texts.proxy_login) if each.user is None else each for each in proxies)
        self.proxies = proxies
        self._serves_all = texts.cookie_jar or texts.keep_cookies or len(proxies) > 1

    @property
    def hosts(self) -> Collection[str]:
        """The hosts that have their own options."""
        return self._parts.keys()

    @property
    def unaddressed(self) -> str | None:
        """The kind of an option that would be sent nowhere, because it names no host and there are no seeds; or None.

        A proxy is for all hosts, and a login names its page.
        """
        if self._texts.origins:
            return None
        texts = self._texts
        if any(read_header("headers", text).origin is None for text in texts.headers):
            return "headers"
        if any(read_cookie_option("cookies", text).origin is None for text in texts.cookies):
            return "cookies"
        return "auth" if any(read_auth("auth", text).origin is None for text in texts.auth) else None

    @property
    def logins(self) -> dict[str, str]:
        """The page of each login, by host."""
        return {host: parts.login.page for host, parts in self._parts.items() if parts.login is not None}

    def identity_of(self, host: str, policy: HostPolicy | None) -> RequestIdentity | None:
        """The headers, cookies and so on for a host; None if there are none.

        A policy's option replaces that of the run.
        """
        own = self._parts.get(host)
        asked = policy.request_options if policy is not None else None
        if own is None and asked is None and not self._serves_all:
            return None
        proxies = self.proxies if len(self.proxies) > 1 else ()
        if asked is not None:
            try:
                texts, secrets = texts_of_policy(asked), Secrets(self._environment)
                texts = replace(texts, collapse_subdomains=self._texts.collapse_subdomains)
                ruled = _read_parts(texts, secrets, self._now()).get(host)
                proxies = read_proxies("proxy", texts.proxy, secrets) or proxies
            except BadInput as problem:
                return RequestIdentity(problem=f"the policy of {host} cannot be used: {problem}")
            own = _joined(own, ruled)
        parts = own or _Parts()
        keeps = parts.keeps or self._texts.keep_cookies
        return RequestIdentity(
            headers={origin: tuple(pairs.values()) for origin, pairs in parts.headers.items()},
            cookies=tuple(parts.cookies),
            proxy=sticky_proxy(proxies, host),
            login=parts.login,
            has_jar=keeps or parts.wants_jar or self._texts.cookie_jar or own is not None,
            keeps_cookies=keeps,
            digests=dict(parts.digests),
        )


def policy_options(host: str, known: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options of a policy after changes; None if none are left. `BadInput` for one that holds a secret.

    A policy stores only references to secrets, so a literal value must be one that anyone may read.
    """
    document = dict(known or {}) | {name: value for name, value in changes.items() if value is not None}
    origin = origin_of_scope(host)
    if not any(document.get(name) for name in (*_POLICY_LISTS, "cookie_jar", "keep_cookies")):
        return None
    document["origins"] = list(dict.fromkeys([*document.get("origins", ()), origin]))
    for text in document.get("headers") or ():
        header = read_header("headers", text)
        if header.value.reference is None and header.name.lower() not in PUBLIC_HEADERS:
            raise BadInput("headers", f"a policy stores no secrets: write {header.name}: env:NAME or file:PATH")
        _check_host("headers", header.origin, origin)
    for text in document.get("cookies") or ():
        cookie = read_cookie_option("cookies", text)
        if cookie.value.reference is None:
            raise BadInput("cookies", f"a policy stores no secrets: write {cookie.name}=env:NAME or file:PATH")
        _check_host("cookies", cookie.origin, origin)
    for text in document.get("auth") or ():
        auth = read_auth("auth", text)
        if auth.secret.reference is None:
            raise BadInput("auth", "a policy stores no secrets: write env:NAME or file:PATH for the password")
        _check_host("auth", auth.origin, origin)
    for text in document.get("proxy") or ():
        if read_proxy("proxy", text).holds_secret:
            raise BadInput("proxy", "a policy stores no secrets: write http://me:env:NAME@host:port")
    if any(text.lstrip().startswith("{") for text in document.get("login") or ()):
        raise BadInput("login", "a policy needs the path of a login file, not its content")
    return {name: value for name, value in document.items() if value}


def _check_host(field: str, own: str | None, origin: str) -> None:
    if own is not None and host_of_origin(own) != host_of_origin(origin):
        raise BadInput(field, f"the policy of {host_of_origin(origin)} cannot send anything to {own}")


def texts_of_policy(asked: Mapping[str, Any]) -> OptionTexts:
    """The options that a policy's row names."""
    lists: dict[str, Any] = {name: tuple(asked.get(name) or ()) for name in (*_POLICY_LISTS, "origins")}
    return OptionTexts(**lists, cookie_jar=bool(asked.get("cookie_jar")), keep_cookies=bool(asked.get("keep_cookies")))


def read_proxies(field: str, texts: Iterable[str], secrets: Secrets) -> tuple[Proxy, ...]:
    """Every proxy of a list, each once; lists in files or variables are read."""
    found: dict[Proxy, None] = {}
    for text in texts:
        option = read_proxy(field, text)
        options: list[ProxyOption] = [option]
        if option.list is not None:
            lines = secrets.read(field, option.list, _MOST_LIST_BYTES).replace(",", "\n").splitlines()
            wanted = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
            options = [read_proxy(field, line) for line in wanted]
            if not options or any(each.list is not None for each in options):
                raise BadInput(field, f"{option.list} must list proxies as scheme://host:port, one per line")
        for each in options:
            user = None if each.user is None else secrets.text(field, each.user)
            password = None if each.password is None else secrets.text(field, each.password)
            found[Proxy(each.url, user, password)] = None
    if len(found) > MOST_OPTIONS:
        raise BadInput(field, f"at most {MOST_OPTIONS:,} proxies can be used")
    return tuple(found)


def _read_parts(texts: OptionTexts, secrets: Secrets, now: float) -> dict[str, _Parts]:
    """What each host receives; hosts that receive nothing are left out."""
    for name in _POLICY_LISTS:
        if len(getattr(texts, name)) > MOST_OPTIONS:
            raise BadInput(name, f"at most {MOST_OPTIONS:,} are allowed")
    found: dict[str, _Parts] = defaultdict(_Parts)

    def each(option: HeaderOption | CookieOption | AuthOption) -> Iterable[tuple[str, _Parts]]:
        for origin in (option.origin,) if option.origin is not None else texts.origins:
            host = host_of_origin(origin, collapse=texts.collapse_subdomains)
            if host is not None:
                yield origin, found[host]

    for header in (read_header("headers", text) for text in texts.headers):
        value = _sendable("headers", secrets.text("headers", header.value), header.value)
        for origin, parts in each(header):
            parts.add_header(origin, header.name, value)
    for auth in (read_auth("auth", text) for text in texts.auth):
        user, secret = secrets.text("auth", auth.user), secrets.text("auth", auth.secret)
        if auth.scheme == "digest":
            for origin, parts in each(auth):
                parts.add_digest(origin, DigestLogin(user, secret))
            continue
        value = _sendable("auth", authorization(auth.scheme, user, secret), auth.secret)
        for origin, parts in each(auth):
            parts.add_header(origin, "Authorization", value)
    for cookie in (read_cookie_option("cookies", text) for text in texts.cookies):
        for origin, parts in each(cookie):
            parts.cookies += _cookies(cookie, origin, secrets, now)
    for login in (read_login("login", text, secrets) for text in texts.login):
        host = host_of_origin(origin_of(login.page), collapse=texts.collapse_subdomains)
        assert host is not None
        if found[host].login is not None:
            raise BadInput("login", f"there are two logins for {host}")
        found[host].login = login
    if texts.cookie_jar or texts.keep_cookies:
        for host in filter(None, (host_of_origin(each, collapse=texts.collapse_subdomains) for each in texts.origins)):
            found[host].wants_jar, found[host].keeps = True, texts.keep_cookies
    return dict(found)


def _cookies(option: CookieOption, origin: str, secrets: Secrets, now: float) -> list[Cookie]:
    if option.name:
        value = secrets.text("cookies", option.value)
        if not is_cookie_value(value):
            raise BadInput(
                "cookies", f"the value of the cookie {option.name} contains a character that cookies cannot contain"
            )
        return [own_cookie(origin, option.name, value)]
    assert option.value.reference is not None
    text = secrets.read("cookies", option.value.reference, _MOST_LIST_BYTES)
    cookies, unread = read_cookie_file(text, origin, now)
    if unread and not cookies:
        raise BadInput("cookies", f"{option.value.reference.name} is not a Netscape cookie file")
    return list(cookies)


def _sendable(field: str, text: str, value: Value) -> str:
    """A header value as libcurl can send it."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        what = str(value.reference) if value.reference is not None else "a value"
        raise BadInput(field, f"{what} contains a character that headers cannot contain") from None
    return text


def _joined(own: _Parts | None, ruled: _Parts | None) -> _Parts | None:
    """The options of a run with those of a policy on top."""
    if own is None or ruled is None:
        return ruled or own
    headers = {origin: dict(pairs) for origin, pairs in own.headers.items()}
    for origin, pairs in ruled.headers.items():
        headers.setdefault(origin, {}).update(pairs)
    return _Parts(
        headers,
        [*own.cookies, *ruled.cookies],
        own.digests | ruled.digests,
        ruled.login or own.login,
        own.wants_jar or ruled.wants_jar,
        own.keeps or ruled.keeps,
    )


def read_login(field: str, text: str, secrets: Secrets) -> FormLogin:
    """Read a login: a TOML file, or the same as JSON."""
    from comity.extract.forms import is_selector  # slow to import, and few crawls log in

    document = _login_document(field, text)
    page, fields, form = document.get("page"), document.get("fields"), document.get("form")
    if not isinstance(page, str) or not isinstance(fields, Mapping) or not fields:
        raise BadInput(field, "a login needs the URL of its page and a table of fields")
    if unknown := set(document) - _LOGIN_KEYS:
        raise BadInput(
            field, f"{min(unknown)} is not a key of a login file; the keys are page, form, fields, check and ended"
        )
    if form is not None and not (isinstance(form, str) and is_selector(form)):
        raise BadInput(field, "form must be a CSS selector")
    pairs = []
    for name, value in fields.items():
        if not isinstance(value, str):
            raise BadInput(field, f"the field {name} must be a string, or a reference such as env:SITE_PASSWORD")
        pairs.append((str(name), secrets.text(field, read_value(field, value))))
    if "://" not in page:
        raise BadInput(field, "the page of a login must be a whole URL, such as https://example.com/login")
    check = _login_check(field, document.get("check"))
    if check.selector is not None and not is_selector(check.selector):
        raise BadInput(field, f"{check.selector[:100]} is not a CSS selector")
    ended, statuses = _login_ended(field, document.get("ended"))
    if ended is not None and ended.selector is not None and not is_selector(ended.selector):
        raise BadInput(field, f"{ended.selector[:100]} is not a CSS selector")
    return FormLogin(web_address(page).url, tuple(pairs), check, form, ended, statuses)


def _login_document(field: str, text: str) -> Mapping[str, Any]:
    if text.startswith("{"):
        found = json.loads(text)
    else:
        import tomllib  # every crawl imports this module, and few have a login

        path = text.removeprefix("file:")
        try:
            found = tomllib.loads(read_text(field, path, _MOST_BYTES))
        except tomllib.TOMLDecodeError as error:
            # Its message names a place, and no content.
            raise BadInput(field, f"{path} is not TOML: {error}") from None
    if not isinstance(found, Mapping):
        raise BadInput(field, "a login file must contain page, fields and check")
    return found


def _login_check(field: str, check: Any) -> LoginCheck:
    if not isinstance(check, Mapping) or not check or not set(check) <= _CHECK_KEYS:
        raise BadInput(field, "a login needs a check that it worked: selector, text or url")
    if not all(isinstance(value, str) and value for value in check.values()):
        raise BadInput(field, "selector, text and url of a check must be strings")
    return LoginCheck(**check)


def _login_ended(field: str, ended: Any) -> tuple[LoginCheck | None, frozenset[int]]:
    """How to recognize that the session has ended: a check of pages, and statuses."""
    if ended is None:
        return None, LOGGED_OUT_STATUSES
    if not isinstance(ended, Mapping) or not ended or not set(ended) <= {*_CHECK_KEYS, "statuses"}:
        raise BadInput(field, "the end of a session is recognized by selector, text, url or statuses")
    statuses = ended.get("statuses", list(LOGGED_OUT_STATUSES))
    if not isinstance(statuses, list) or not all(type(each) is int and 400 <= each <= 499 for each in statuses):
        raise BadInput(field, "statuses must be a list of numbers from 400 to 499, such as [401, 403]")
    check = {name: value for name, value in ended.items() if name != "statuses"}
    return (_login_check(field, check) if check else None), frozenset(statuses)
