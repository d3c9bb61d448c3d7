"""Access: whether a request belongs to the audience of its route. Decided from the head alone, before the body is read.

Public routes are for all. Admin routes are for this machine only, and only in dev, unless a login is configured; then
they need a session or a token, and every request that is not safe needs an operator. Bot routes need an API
key. A page of another site must not be able to use the browser's session or its network position (CSRF, DNS rebinding).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final, Protocol, assert_never
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import cookie_parser

from comity.doors.web.audiences import Audience, RouterRules
from comity.doors.web.errors import ApiError
from comity.doors.web.logins import LoginThrottle, is_token
from comity.doors.web.requests import FORM
from comity.model.console import ConsoleSession, Role
from comity.model.dataclass import dataclass

if TYPE_CHECKING:
    from comity.operate.console import ConsoleSessions

CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf_token"
BOT_KEY_HEADER: Final = "x-api-key"
_MAX_BOT_KEY: Final = 200
MAX_WRONG_KEYS: Final = 20
WRONG_KEYS_WINDOW_S: Final = 60.0
_LONGEST_COOKIE: Final = 200
_MOST_FIELDS: Final = 10_000
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Behind a proxy, every request seems to come from this machine.
_PROXY_HEADERS: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class StaleForm(ApiError):
    """A change without the token of its session: forged, or from a page that is older than the session."""

    def __init__(self) -> None:
        message = "the CSRF token is missing or wrong: reload the page and try again"
        super().__init__(403, "csrf", message)


def not_operator() -> ApiError:
    """The error of a viewer who asks for a change, or for the form of one."""
    return ApiError(403, "not_operator", "your role is viewer: only an operator can do this")


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """The settings that decide who is admitted."""

    is_dev: bool
    password_hash: str | None = None
    token_hashes: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    session_s: float = 12 * 3600.0
    prefix: str = "/admin"
    """Where admin routes are served; inside, their paths begin with /admin."""
    max_page_body_bytes: int = 0
    """The largest body that carries a page, where a router allows one."""

    @property
    def has_login(self) -> bool:
        """Whether the settings name a password or a token; users in the state are a login, too."""
        return self.password_hash is not None or bool(self.token_hashes)

    @property
    def cookie_name(self) -> str:
        """The session cookie; with the prefix, browsers accept it only from this host over TLS (RFC 6265bis)."""
        return self.named("comity_session")

    @property
    def form_cookie_name(self) -> str:
        """The cookie that forms are tied to where there is no session."""
        return self.named("comity_form")

    def named(self, cookie: str) -> str:
        """The name of a cookie in this environment."""
        return cookie if self.is_dev else f"__Host-{cookie}"


class BotKeys(Protocol):
    """Knows the API keys of bots."""

    async def bot_of(self, key: str) -> str | None:
        """The id of the bot with this key; None if the key is unknown or revoked."""
        ...

    def was_valid(self, key: str) -> bool:
        """Whether the key was valid when it was last looked up; says nothing about now."""
        ...


class NoBotKeys:
    """Knows no keys: bot routes are closed."""

    async def bot_of(self, _key: str) -> str | None:
        """No key is valid."""
        return None

    def was_valid(self, _key: str) -> bool:
        """None ever was."""
        return False


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request; header names are in lower case."""

    method: str
    path: str
    client: str
    headers: Mapping[str, str]

    @property
    def is_safe(self) -> bool:
        """Whether it asks for no change (RFC 9110 §9.2.1)."""
        return self.method in SAFE_METHODS

    @property
    def content_type(self) -> str:
        """The type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def cookie(self, name: str) -> str | None:
        """A cookie by its name; None if it is missing or too long to be ours."""
        value = cookie_parser(self.headers.get("cookie", "")).get(name)
        return value if value and len(value) <= _LONGEST_COOKIE else None


@dataclass(frozen=True, slots=True)
class Caller:
    """An admitted caller: a logged-in browser, a program with a token, this machine in dev, or a bot.

    On a bot route, a caller without a bot came without a key, which only this machine may do, in dev.
    """

    session: ConsoleSession | None = None
    session_name: str | None = None
    bot: str | None = None
    role: Role | None = None
    """None on routes that are not for admins, and before the login."""
    by_token: bool = False
    form_secret: str | None = None
    """What forms are tied to: the session's name, or a cookie made for this purpose."""
    has_new_secret: bool = False
    """Whether the browser does not have that cookie yet."""

    @property
    def user(self) -> str | None:
        """The name of the user who is logged in."""
        return None if self.session is None else self.session.user

    @property
    def may_write(self) -> bool:
        """Whether the caller may change anything or cause a request to a host."""
        return self.role is Role.OPERATOR

    @property
    def csrf_token(self) -> str:
        """What a form or the X-CSRF-Token header must carry; it does not reveal the cookie that it is made from."""
        return sha256(f"comity form {self.form_secret}".encode()).hexdigest() if self.form_secret else ""


class Access:
    """Admits requests to the audiences."""

    def __init__(
        self, settings: AccessSettings, bot_keys: BotKeys | None = None, sessions: ConsoleSessions | None = None
    ) -> None:
        self.settings = settings
        self._sessions = sessions
        self._bot_keys: BotKeys = bot_keys or NoBotKeys()
        self._wrong_keys = LoginThrottle(MAX_WRONG_KEYS, WRONG_KEYS_WINDOW_S)
        self._hosts = frozenset(name.lower() for name in settings.allowed_hosts)

    async def has_login(self) -> bool:
        """Whether a password, a token or a user exists; without one, admin routes are for this machine in dev."""
        return self.settings.has_login or (self._sessions is not None and await self._sessions.has_users())

    async def admit(self, head: RequestHead, rules: RouterRules | None, now: float) -> Caller:
        """Admit the sender of a request, or raise `ApiError`. Without rules, the path is unknown and not protected.

        Whether an admin may do what the request asks for is decided by `authorize` and, for a form, `check_form`.
        """
        if rules is None or not rules.any_host:
            await self._check_host(head)
        if rules is None:
            return Caller()
        match rules.audience:
            case Audience.PUBLIC:
                return Caller()
            case Audience.ADMIN:
                return await self._admit_admin(head, rules)
            case Audience.BOT:
                return await self._admit_bot(head, now)
            case unknown:
                assert_never(unknown)

    def authorize(self, head: RequestHead, rules: RouterRules | None, caller: Caller) -> None:
        """Refuse a change by a viewer, and one with a session but without its CSRF token."""
        if rules is None or rules.audience is not Audience.ADMIN or head.is_safe or rules.before_login:
            return
        if not caller.may_write and not rules.any_role:
            raise not_operator()
        if caller.session is not None and head.content_type != FORM:
            _check_token(caller, head.headers.get(CSRF_HEADER, ""))

    def check_form(self, head: RequestHead, rules: RouterRules, caller: Caller, body: bytes) -> None:
        """Refuse a form without the token of its browser, also where no login is needed.

        A page of another site can send a form; it cannot read the token, and does not get the cookie sent along.
        """
        if rules.audience is not Audience.ADMIN or head.is_safe or head.content_type != FORM or caller.by_token:
            return
        sent = head.headers.get(CSRF_HEADER, "")
        if not sent:
            try:
                fields = parse_qsl(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
            except ValueError:
                raise ApiError(422, "bad_input", f"a form may have at most {_MOST_FIELDS:,} fields") from None
            sent = next((value for name, value in fields if name == CSRF_FIELD), "")
        _check_token(caller, sent)

    async def _admit_admin(self, head: RequestHead, rules: RouterRules) -> Caller:
        if not await self.has_login():
            self._check_loopback(head)
            _check_origin(head)
            return self._with_form_cookie(head, role=Role.OPERATOR)
        scheme, _, token = head.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # browsers do not send this by themselves, so CSRF is no concern
            if is_token(token.strip(), self.settings.token_hashes):
                return Caller(role=Role.OPERATOR, by_token=True)
            raise _unauthorized("the token is not valid")
        _check_origin(head)
        name = head.cookie(self.settings.cookie_name)
        session = await self._sessions.get(name) if name and self._sessions is not None else None
        if rules.before_login:
            return self._with_form_cookie(head, session=session, session_name=name)
        if session is None:
            raise _unauthorized("log in, or send a token")
        return Caller(session, name, role=session.role, form_secret=name)

    def before_login(self, head: RequestHead) -> Caller:
        """A browser without a session, which is asked to log in."""
        return self._with_form_cookie(head)

    def _with_form_cookie(
        self,
        head: RequestHead,
        *,
        session: ConsoleSession | None = None,
        session_name: str | None = None,
        role: Role | None = None,
    ) -> Caller:
        """A caller whose forms are tied to their own cookie."""
        known = head.cookie(self.settings.form_cookie_name)
        secret = known or secrets.token_urlsafe(32)
        return Caller(session, session_name, role=role, form_secret=secret, has_new_secret=known is None)

    async def _admit_bot(self, head: RequestHead, now: float) -> Caller:
        key = head.headers.get(BOT_KEY_HEADER, "").strip()
        if not key and self._is_own_machine(head):
            _check_origin(head)
            return Caller()
        # A key that was valid a moment ago is looked up at once: a careless bot does not stop others on its address.
        wait_s = 0.0 if self._bot_keys.was_valid(key) else self._wrong_keys.wait_s(head.client, now)
        if wait_s > 0:
            message = "too many requests with wrong keys came from this address; try again later"
            raise ApiError(429, "too_many_requests", message, {"Retry-After": str(int(wait_s) + 1)})
        bot = await self._bot_keys.bot_of(key) if 0 < len(key) <= _MAX_BOT_KEY else None
        if bot is None:
            self._wrong_keys.note_failure(head.client, now)
            message = "the API key is not valid" if key else "send an API key in the X-API-Key header"
            raise ApiError(401, "unauthorized", message, {"WWW-Authenticate": 'ApiKey realm="comity"'})
        return Caller(bot=bot)

    def _is_own_machine(self, head: RequestHead) -> bool:
        """Whether a request may come without a login or a key: in dev, from this machine, not through a proxy."""
        is_forwarded = any(name in head.headers for name in _PROXY_HEADERS)
        return self.settings.is_dev and not is_forwarded and _is_loopback_name(head.client)

    async def _check_host(self, head: RequestHead) -> None:
        """Refuse a Host header that does not name this server, as a rebound DNS name does not."""
        name = _without_port(head.headers.get("host", ""))
        if self._hosts:
            if name in self._hosts:
                return
        elif not self.settings.is_dev or _is_loopback_name(name) or await self.has_login():
            return
        raise ApiError(403, "host_not_allowed", "the Host header does not name this server; see COMITY_ALLOWED_HOSTS")

    def _check_loopback(self, head: RequestHead) -> None:
        if not self.settings.is_dev:
            raise ApiError(
                403,
                "admin_closed",
                "the admin API is closed because no login is configured; add a user with comity users add",
            )
        if not self._is_own_machine(head):
            raise ApiError(403, "admin_closed", "without a login, the admin API is open to this machine only")


def is_loopback(host: str) -> bool:
    """Whether a host name or address, with or without a port, is the loopback of this machine."""
    return _is_loopback_name(_without_port(host))


def is_from_own_page(head: RequestHead) -> bool:
    """Whether a browser says that a page of this server sent the request."""
    site, origin = head.headers.get("sec-fetch-site"), head.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin is not None and _names_host(origin, head.headers.get("host", ""))


def _check_origin(head: RequestHead) -> None:
    """Refuse changes that a page of another site sends, and what it loads; browsers say where a request comes from.

    Such a page could not read what it loads, but a query or an export costs time, and how long it takes tells
    something. Links from other sites work.
    """
    is_of_another = head.headers.get("sec-fetch-site") not in (None, "same-origin", "none")
    if head.method in SAFE_METHODS:
        if is_of_another and head.headers.get("sec-fetch-mode") != "navigate":
            raise _cross_site()
        return
    if is_of_another:
        raise _cross_site()
    origin = head.headers.get("origin")
    if origin is None:
        return
    if not _names_host(origin, head.headers.get("host", "")):
        raise _cross_site()


def _names_host(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(parts.netloc) and _is_same(parts.scheme, parts.netloc, host)


def _check_token(caller: Caller, sent: str) -> None:
    known = caller.csrf_token
    if not known or caller.has_new_secret or not hmac.compare_digest(sent.encode("utf-8", "replace"), known.encode()):
        raise StaleForm


def _cross_site() -> ApiError:
    return ApiError(403, "csrf", "a page on another site cannot send this request")


def _is_same(scheme: str, one: str, other: str) -> bool:
    port = {"http": ":80", "https": ":443"}.get(scheme, "")
    return bool(other) and one.lower().removesuffix(port) == other.lower().removesuffix(port)


def _unauthorized(message: str) -> ApiError:
    return ApiError(401, "unauthorized", message, {"WWW-Authenticate": 'Bearer realm="comity"'})


def _without_port(host: str) -> str:
    """The name in a Host header."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and ":" not in name else host


def _is_loopback_name(name: str) -> bool:
    if name in _LOOPBACK_NAMES:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
