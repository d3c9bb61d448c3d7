"""One request and its response: what the walk asks the fetch room for, and what comes back.

Takes a `FetchRequest`; returns a `Response` or a `FetchFailure`. Both are values: a server that misbehaves is an
expected result, not an exception.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol

from comity.model.dataclass import dataclass
from comity.model.named_tuple import fast_new

_Pairs = tuple[tuple[str, str], ...]
LOGGED_OUT_STATUSES: Final = frozenset({401, 403, 419, 440})
"""Statuses that pages have for a client whose session has ended; the last two are those of Laravel and IIS."""


class Cookie(NamedTuple):
    """One cookie, with where it may be sent (RFC 6265 §5.3).

    A cookie that a site sets lives as long as one visit, or as the host's jar if there is one. It is stored only if an
    operator asks for that.
    """

    name: str
    value: str
    domain: str
    is_host_only: bool
    port: str
    """Empty for the usual ports. Hosts of different ports are different hosts here, so it goes to no other port."""
    path: str
    is_secure: bool
    expires_at: float | None = None

    def __repr__(self) -> str:
        """Without the value: a cookie may be as powerful as a password."""
        return f"Cookie({self.name!r} for {self.domain}{self.path})"


class Proxy(NamedTuple):
    """The proxy of one request: scheme, host and port; its user and password are kept apart."""

    url: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        """Without user and password."""
        return f"Proxy({self.url!r})"


Method = Literal["GET", "HEAD", "POST"]

OnSent = Callable[[], None]
"""Called when the way to the host is open and the request goes out; must not wait or raise."""


class Headers:
    """Header fields as they arrived: names in lower case, order and repetitions kept.

    `first` holds the first value of each field, for callers that know the exact name and need speed.
    """

    __slots__ = ("_pairs", "first", "repeats")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs: tuple[tuple[str, str], ...] | None = tuple(pairs)
        # Reversed, so that of several fields with one name the first is the one found.
        self.first: dict[str, str] = dict(reversed(self._pairs))
        self.repeats = len(self.first) != len(self._pairs)  # whether a field occurs more than once

    @classmethod
    def unique(cls, fields: dict[str, str]) -> Headers:
        """Take over a table in which every field occurs once: the fast path for the common response."""
        headers = cls.__new__(cls)
        headers._pairs = None
        headers.first = fields
        headers.repeats = False
        return headers

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every field with its name."""
        return tuple(self.first.items()) if self._pairs is None else self._pairs

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of a field, whatever the case of the name."""
        value = self.first.get(name)
        return value if value is not None else self.first.get(name.lower(), default)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Every value of a field, in the order of arrival."""
        wanted = name.lower()
        if wanted not in self.first:
            return ()
        return tuple(value for key, value in self.pairs if key == wanted)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self.first

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.first if self._pairs is None else self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self.pairs == other.pairs

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs)!r})"


NO_HEADERS = Headers()


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one request; each ends it with its own failure kind."""

    max_body_bytes: int = 10_000_000  # after decompression
    max_wire_bytes: int = 10_000_000  # as received
    connect_timeout_s: float = 10.0  # name look-up, TCP and TLS together
    first_byte_timeout_s: float = 20.0  # from the request sent to the whole head of the answer
    idle_timeout_s: float = 20.0  # between two pieces of the body
    total_timeout_s: float = 60.0
    max_header_bytes: int = 65_536  # interim answers and trailers counted too
    max_header_count: int = 200

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above zero")


class ContentTypeRules(NamedTuple):
    """Which media types are wanted; patterns such as `text/html`, `text/*` or `*/*`.

    An empty `accept` takes everything; `reject` is checked after it and wins. Read by `rules.content_type`. A tuple,
    because it is hashed for every response.
    """

    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    accept_missing: bool = True


DEFAULT_LIMITS = FetchLimits()
ANY_CONTENT_TYPE = ContentTypeRules()


@fast_new
class FetchRequest(NamedTuple):
    """One hop to one URL; redirects come back as responses."""

    url: str
    method: Method = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    limits: FetchLimits = DEFAULT_LIMITS
    content_types: ContentTypeRules = ANY_CONTENT_TYPE
    body: bytes = b""  # what is posted
    proxy: Proxy | None = None  # instead of the fetcher's own
    keeps_beginning: bool = False  # a body that is too large is cut off, not refused

    def __repr__(self) -> str:
        """Without header fields and body, which may be secret."""
        return f"FetchRequest({self.method} {self.url})"


@fast_new
class Response(NamedTuple):
    """A complete response. Durations are seconds since the start of the request; `started_at` is wall time.

    `truncated` can only be true outside 2xx, or where the request keeps the beginning of a body. Outside 2xx the
    status is the message, so a body that is too large, of the wrong type or wrongly encoded is dropped instead of
    hiding the status in a failure.
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    http_version: str
    address: str
    started_at: float
    sent_s: float  # connection ready, request sent: what follows is the server's own time
    first_byte_s: float
    elapsed_s: float
    wire_bytes: int
    content_encoding: str = ""
    truncated: bool = False
    server_date: float | None = None
    coded_body: bytes | None = None  # as it was received, where `body` was inflated from it whole
    is_gzip_member: bool = False  # `coded_body` is a single member of gzip that every reader takes

    @property
    def content_type(self) -> str | None:
        """The Content-Type field as received."""
        return self.headers.get("content-type")


class FailureKind(StrEnum):
    """Why there is no response; the values are stored and must not change."""

    DNS_FAILURE = "dns_failure"
    CONNECT_FAILURE = "connect_failure"
    PROXY_FAILURE = "proxy_failure"
    TLS_FAILURE = "tls_failure"
    CERTIFICATE_REFUSED = "certificate_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    RESET = "reset"
    PROTOCOL_ERROR = "protocol_error"
    BAD_ENCODING = "bad_encoding"
    TOO_LARGE = "too_large"
    DECOMPRESSION_BOMB = "decompression_bomb"
    HEADER_FLOOD = "header_flood"
    WRONG_TYPE = "wrong_type"
    ADDRESS_REFUSED = "address_refused"
    SCHEME_REFUSED = "scheme_refused"
    INVALID_URL = "invalid_url"
    INVALID_HEADER = "invalid_header"
    CREDENTIALS_MISSING = "credentials_missing"
    CANCELLED = "cancelled"

    @property
    def is_network(self) -> bool:
        """Whether the connection to the server failed, so that a later try may succeed."""
        return self in _NETWORK

    @property
    def is_refusal(self) -> bool:
        """Whether we refuse to request or accept it, so that another try would end the same way."""
        return self in _REFUSAL

    @property
    def is_answered(self) -> bool:
        """Whether the server responded, but with a header or a body that we do not read."""
        return self in _ANSWERED

    @property
    def is_ours(self) -> bool:
        """Whether it says nothing about the site: our proxy failed, or something that we send could not be read."""
        return self in _OURS


_NETWORK = frozenset(
    {
        FailureKind.DNS_FAILURE,
        FailureKind.CONNECT_FAILURE,
        FailureKind.PROXY_FAILURE,
        FailureKind.TLS_FAILURE,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_BYTE_TIMEOUT,
        FailureKind.IDLE_TIMEOUT,
        FailureKind.TOTAL_TIMEOUT,
        FailureKind.RESET,
        FailureKind.PROTOCOL_ERROR,
    }
)
_ANSWERED = frozenset(
    {
        FailureKind.BAD_ENCODING,
        FailureKind.TOO_LARGE,
        FailureKind.DECOMPRESSION_BOMB,
        FailureKind.HEADER_FLOOD,
        FailureKind.WRONG_TYPE,
    }
)
_OURS = frozenset({FailureKind.PROXY_FAILURE, FailureKind.CREDENTIALS_MISSING})
_REFUSAL = frozenset(
    {
        FailureKind.CERTIFICATE_REFUSED,
        FailureKind.BAD_ENCODING,
        FailureKind.TOO_LARGE,
        FailureKind.DECOMPRESSION_BOMB,
        FailureKind.HEADER_FLOOD,
        FailureKind.WRONG_TYPE,
        FailureKind.ADDRESS_REFUSED,
        FailureKind.SCHEME_REFUSED,
        FailureKind.INVALID_URL,
        FailureKind.INVALID_HEADER,
    }
)


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """No response, or none that we accept; `status` and `headers` are set if they had arrived."""

    url: str
    kind: FailureKind
    detail: str
    started_at: float
    elapsed_s: float
    status: int | None = None
    headers: Headers = field(default=NO_HEADERS)
    address: str | None = None
    wire_bytes: int = 0


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """A request that was not made: taken down, forbidden by robots.txt, or its host cannot be asked now."""

    code: str


class Waiter(Protocol):
    """What is notified of the end of a request, and waits for it, in place of a future."""

    def done(self) -> bool:
        """Whether it was notified."""
        ...

    def set_result(self, answer: tuple[int, str]) -> None:
        """Notify it: the result of the transfer, and what went wrong."""
        ...

    def __await__(self) -> Generator[Any, None, tuple[int, str]]:
        """Wait for that."""
        ...


Send = Callable[[FetchRequest, OnSent | None], Awaitable[Response | FetchFailure]]
"""Makes one request on the wire; `Fetcher.get` is one."""

Ask = Callable[[FetchRequest, Send], Awaitable[Response | FetchFailure | NotAllowed]]
"""Makes one request of a page, by `send`, as soon as takedowns, robots.txt, the host's lease and its gate allow it.

Each request has its own start and its own row in the ledger, whatever its host. `send` is called once, or not at all.
"""


class Fetcher(Protocol):
    """Gets what is at a URL. libcurl does (`fetch.fetcher`); a browser and a simulated web do it in other ways.

    Only the walk calls it: `get` once for each start that a host's gate has granted, and `get_page` once for a page.
    """

    async def get(self, request: FetchRequest, on_sent: OnSent | None = None) -> Response | FetchFailure:
        """Make one request: no redirect, no second try. Never raises for what a server or a URL does."""
        ...

    async def get_page(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure | NotAllowed:
        """Get a page with as many requests as that takes. Every request must go through `ask`, the first for the page.

        A fetcher that needs one request has `page_of_one_request` here. A redirect of the page is its answer.
        """
        ...

    def poll(self) -> None:
        """Send requests that have just started, and note answers that have come, without waiting for the event loop."""
        ...

    def forget_host(self, host: str) -> int:
        """Close the idle connections to a host whose lease ends; give their number."""
        ...

    def close(self) -> None:
        """End what is in flight as cancelled; may be called again."""
        ...


async def page_of_one_request(
    fetcher: Fetcher, request: FetchRequest, ask: Ask
) -> Response | FetchFailure | NotAllowed:
    """Get a page that takes one request: the `get_page` of fetchers for which one request is enough."""
    return await ask(request, fetcher.get)


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """How to check that a login worked, on the page that it led to. All conditions that are set must hold."""

    selector: str | None = None
    text: str | None = None
    url: str | None = None
    """The path, or the whole URL, where the login leads."""


@dataclass(frozen=True, slots=True)
class FormLogin:
    """A form that is filled in and sent before the first page of a host is visited."""

    page: str
    """The URL of the page with the form."""
    fields: _Pairs = field(repr=False)
    check: LoginCheck
    form: str | None = None
    """A CSS selector, where the form cannot be recognized by its fields."""
    ended: LoginCheck | None = None
    """How to recognize a page that is served because the session has ended, besides what every site does."""
    ended_statuses: frozenset[int] = LOGGED_OUT_STATUSES


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """A user name and a password that are sent only as a digest of a server's challenge (RFC 7616)."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """What goes to one host. Headers go to exactly the origins they are for (scheme, name and port).

    Headers, cookies, credentials, proxy and login. Values are plain here, because they are about to be sent. They live
    in memory only, and no `repr` shows them.
    """

    headers: Mapping[str, _Pairs] = field(default_factory=dict, repr=False)
    cookies: tuple[Cookie, ...] = ()
    proxy: Proxy | None = None
    login: FormLogin | None = None
    has_jar: bool = False
    """Whether cookies that the host sets are sent back for the length of the lease."""
    keeps_cookies: bool = False
    """Whether the jar is kept with the host between leases."""
    digests: Mapping[str, DigestLogin] = field(default_factory=dict)
    """By origin, as headers are."""
    problem: str | None = None
    """Why the host cannot be requested: a secret or file that it needs cannot be read. Then nothing is sent."""

    @property
    def is_personal(self) -> bool:
        """Whether answers may hold secrets of ours, such as the cookie of a session."""
        return bool(self.headers or self.cookies or self.login or self.has_jar or self.digests)

    @property
    def needs_a_step(self) -> bool:
        """Whether there is a step before the first visit: a login, or a report that the host cannot be requested."""
        return self.login is not None or self.problem is not None
