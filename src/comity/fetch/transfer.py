"""One easy handle and what happens on it: a request enters, libcurl calls back, a result leaves.

A transfer is used again for one request after another; options that do not change are set once. Header lines are
collected without any code of ours running; the head is judged when the first of the body arrives, or at the next check
of the time limits if the body is late, so no more is read of a body that is not wanted.
"""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from math import inf
from struct import unpack_from
from time import monotonic
from typing import Any, Final

import pycurl

from comity.fetch.dialler import Dialler, Ends
from comity.fetch.head import HeaderFlood, content_length, parse_date, read_head
from comity.fetch.inflate import (
    StreamInflater,
    Undecodable,
    inflate_beginning,
    inflate_member,
    inflate_whole,
    parse_codings,
)
from comity.fetch.settings import FetchSettings, ProxySettings
from comity.model.fetch import (
    ANY_CONTENT_TYPE,
    NO_HEADERS,
    FailureKind,
    FetchFailure,
    FetchLimits,
    FetchRequest,
    Headers,
    Proxy,
    Response,
)
from comity.rules.content_type import judge

_URL: Final = pycurl.URL
_GO_ON: Final[int] = pycurl.PREREQFUNC_OK
_ABORT: Final[int] = pycurl.PREREQFUNC_ABORT
_STOP: Final = -1  # returned to libcurl, ends the transfer
_PROTOCOLS: Final = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
_GZIP: Final = ("gzip",)
# Up to here a body is collected and inflated whole; beyond, it is inflated as it comes.
_STREAM_FROM_BYTES: Final = 262_144
_DAY_S: Final = 86_400.0
# An answer that seems to have taken longer may have waited for us: the kernel knows when it came. Its clock counts in
# steps of up to 10 ms.
_SURELY_PROMPT_S: Final = 0.05
_TICK_S: Final = 0.01
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_LAST_DATA_RECEIVED: Final = 52  # where `struct tcp_info` has it, in milliseconds
_NO_BODY: Final = frozenset({204, 304})
_OVERLONG: Final = (FailureKind.TOO_LARGE, FailureKind.DECOMPRESSION_BOMB)


_NO_REQUEST: Final = FetchRequest("")


class Transfer:
    """A reusable easy handle with the state of its present request."""

    __slots__ = (
        "_address",
        "_body_limit",
        "_came",
        "_chunks",
        "_coded",
        "_codings",
        "_dialler",
        "_headed",
        "_headers",
        "_is_gzip_member",
        "_left_behind",
        "_lines",
        "_max_error_body_bytes",
        "_redialled",
        "_seen_at",
        "_seen_bytes",
        "_stream",
        "_version",
        "_watermark",
        "_wire_limit",
        "easy",
        "fault",
        "limits",
        "on_sent",
        "request",
        "sent",
        "stale",
        "started",
        "started_at",
        "status",
        "waiter",
        "wants",
        "wire_bytes",
    )

    def __init__(self, dialler: Dialler, *, max_error_body_bytes: int) -> None:
        self._dialler = dialler
        self._max_error_body_bytes = max_error_body_bytes
        self.wants: tuple[object, ...] = ("GET", (), None, None, b"", None)  # what the handle's options are set for
        self._redialled = False
        self.waiter: Any = None
        self.on_sent: Callable[[], None] | None = None
        # Set by each request:
        self.request = _NO_REQUEST
        self.limits: FetchLimits = _NO_REQUEST.limits
        self.started_at = self.started = self.sent = self._headed = 0.0
        self._came = inf
        self.fault: tuple[FailureKind, str] | None = None
        self.status = self.wire_bytes = 0
        self._watermark = -1
        self._address = ""
        self._left_behind = self.stale = False
        self._lines: list[bytes] = []
        self._chunks: list[bytes] = []
        self._stream: StreamInflater | BytesIO | None = None
        # Set by the head of the answer:
        self._version = ""
        self._headers: Headers = NO_HEADERS
        self._codings: tuple[str, ...] = ()
        self._coded: bytes | None = None
        self._is_gzip_member = False
        self._body_limit = self._wire_limit = 0
        self._seen_bytes, self._seen_at = -1, 0.0
        self.easy = easy = pycurl.Curl()
        easy.transfer = self
        easy.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        easy.setopt(pycurl.WRITEFUNCTION, self._on_body)
        easy.setopt(pycurl.PREREQFUNCTION, self._on_ready_to_send)
        dialler.attach(easy)
        easy.setopt(pycurl.PROTOCOLS, _PROTOCOLS)
        easy.setopt(pycurl.REDIR_PROTOCOLS, _PROTOCOLS)
        easy.setopt(pycurl.FOLLOWLOCATION, 0)
        easy.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        easy.setopt(pycurl.HTTP09_ALLOWED, 0)
        easy.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        easy.setopt(pycurl.NOSIGNAL, 1)
        easy.setopt(pycurl.PATH_AS_IS, 1)
        easy.setopt(pycurl.SSL_VERIFYPEER, 1)
        easy.setopt(pycurl.SSL_VERIFYHOST, 2)

    def begin(self, request: FetchRequest, url: str, started_at: float) -> None:
        """Forget the request before and get ready for this one; `url` is its URL in canonical form."""
        self.request = request
        self.limits = request.limits
        self.started_at = started_at
        self.started = monotonic()
        self.sent = 0.0
        self._came = inf
        self.fault = None
        self.status = self.wire_bytes = 0
        self._watermark = -1
        self._address = ""
        self._left_behind = self.stale = False
        self._stream = self._coded = None
        self._is_gzip_member = False
        self._lines.clear()
        self._chunks.clear()
        dialler = self._dialler
        dialler.url, dialler.refused, dialler.dialled = url, "", False
        self.easy.setopt(_URL, url)
        if self._redialled:
            self._redialled = False
            self.easy.setopt(pycurl.FRESH_CONNECT, 0)

    def use_proxy(self, *, is_used: bool) -> None:
        """Whether a proxy is dialled instead of the host: its address is the operator's own."""
        self._dialler.proxied = is_used

    def begin_again(self) -> None:
        """The reused connection was dead: dial a new one."""
        self.stale = False
        self._redialled = True
        self.easy.setopt(pycurl.FRESH_CONNECT, 1)

    def overdue(self, now: float) -> tuple[FailureKind, str] | None:
        """Which time limit has passed, if any; the body's progress is noted from one look to the next."""
        limits = self.limits
        if not self.status and self.sent:
            self.judge_head()
            if self.fault is not None:
                return self.fault
        if now - self.started >= limits.total_timeout_s:
            return FailureKind.TOTAL_TIMEOUT, f"not complete after {limits.total_timeout_s:g} s"
        if not self.sent:
            if now - self.started >= limits.connect_timeout_s:
                if self._dialler.proxied and not self.easy.getinfo(pycurl.CONNECT_TIME):
                    return FailureKind.PROXY_FAILURE, f"no connection to the proxy after {limits.connect_timeout_s:g} s"
                return FailureKind.CONNECT_TIMEOUT, f"no connection after {limits.connect_timeout_s:g} s"
        elif not self.status:
            if now - self.sent >= limits.first_byte_timeout_s:
                return FailureKind.FIRST_BYTE_TIMEOUT, f"no response after {limits.first_byte_timeout_s:g} s"
        elif self.wire_bytes != self._seen_bytes:
            self._seen_bytes, self._seen_at = self.wire_bytes, now
        elif now - self._seen_at >= limits.idle_timeout_s:
            return FailureKind.IDLE_TIMEOUT, f"no data for {limits.idle_timeout_s:g} s"
        return None

    def judge_head(self) -> bool:
        """Read the head if it is complete; returns whether it is. What it rules out becomes this transfer's failure."""
        limits, lines = self.limits, self._lines
        if not lines:
            return False
        try:
            head = read_head(lines, limits.max_header_count, limits.max_header_bytes)
        except HeaderFlood as flood:
            self.fault = (FailureKind.HEADER_FLOOD, str(flood))
            return False
        if head is None:
            return False
        # By our own clock: libcurl's starts when it gets to a transfer, and that may be late on a busy loop.
        self._headed = monotonic()
        self._version, self.status, self._headers = _version, status, headers = head
        self._codings = ()
        self._seen_bytes = -1
        request = self.request
        success = 200 <= status < 300
        self._body_limit = limits.max_body_bytes if success else min(limits.max_body_bytes, self._max_error_body_bytes)
        self._wire_limit = wire_limit = min(limits.max_wire_bytes, self._body_limit)
        self._watermark = min(_STREAM_FROM_BYTES, wire_limit)
        length = content_length(headers)
        if length == -1:
            self.fault = (FailureKind.PROTOCOL_ERROR, "contradictory or unreadable Content-Length")
            return True
        if request.method == "HEAD" or status in _NO_BODY:
            return True
        fields = headers.first
        if success and request.content_types is not ANY_CONTENT_TYPE:
            verdict = judge(fields.get("content-type"), request.content_types)
            if not verdict.accepted:
                self.fault = (FailureKind.WRONG_TYPE, verdict.reason)
                return True
        encoding = fields.get("content-encoding")
        if encoding is not None:
            if headers.repeats:
                encoding = ",".join(headers.get_all("content-encoding"))
            try:
                self._codings = parse_codings(encoding)
            except Undecodable as problem:
                self._leave_body(problem.kind, problem.detail)
                return True
        if length is not None and length > wire_limit and not request.keeps_beginning:
            self._leave_body(FailureKind.TOO_LARGE, f"Content-Length is {length} bytes, {wire_limit} allowed")
        return True

    def note_end(self) -> None:
        """libcurl is done: note the latest time at which the answer can have arrived.

        What it then waited for us is not the host's slowness, and must not lengthen the host's delay.
        """
        now = monotonic()
        self._came = now - unread_s(self.easy) if now - self.sent > _SURELY_PROMPT_S else now

    def result(self, code: int, message: str) -> Response | FetchFailure:
        """What the ended transfer amounts to."""
        if not self.status and self.sent and self.fault is None:
            self.judge_head()
        if self.fault is not None:
            if self._left_behind:
                return self._response(self._collected(), truncated=True)
            return self.failure(*self.fault)
        if code:
            dialler = self._dialler
            if dialler.refused and not self.sent:
                self._address = dialler.refused_at
                return self.failure(FailureKind.ADDRESS_REFUSED, dialler.refused)
            kind = kind_of(code, message, asked=self.sent > 0)
            if dialler.proxied and kind in _OF_PROXY and not self.sent:
                kind = FailureKind.PROXY_FAILURE  # nothing else was dialled
            return self.failure(kind, message or pycurl.easy_strerror(code))
        if not self.status:
            return self.failure(FailureKind.PROTOCOL_ERROR, "the response has no header")
        if self.status == 407 and self._dialler.proxied:
            return self.failure(FailureKind.PROXY_FAILURE, "the proxy refused the user name and password (407)")
        if len(self._lines) > self.limits.max_header_count:
            return self.failure(FailureKind.HEADER_FLOOD, f"{len(self._lines)} header lines with the trailers")
        try:
            return self._response(self._whole_body())
        except Undecodable as problem:
            coded, self._coded = self._coded or b"", None
            if self._keeps_beginning(problem.kind):
                return self._response(inflate_beginning(coded, self._codings, self._body_limit), truncated=True)
            if self._is_success():
                return self.failure(problem.kind, problem.detail)
            return self._response(b"", truncated=True)

    def failure(self, kind: FailureKind, detail: str) -> FetchFailure:
        """A failure of this request, with what had arrived."""
        return FetchFailure(
            self.request.url,
            kind,
            detail,
            self.started_at,
            monotonic() - self.started,
            self.status or None,
            self._headers if self.status else NO_HEADERS,
            self._address or None,
            self.wire_bytes,
        )

    def close(self) -> None:
        """Release the handle and drop the reference cycle."""
        self.easy.transfer = None
        self.easy.close()

    # -- what libcurl calls -------------------------------------------------------------------------------

    def _on_body(self, chunk: bytes) -> int | None:
        self.wire_bytes = wire_bytes = self.wire_bytes + len(chunk)
        if wire_bytes > self._watermark:
            return self._on_more_body(chunk)
        self._chunks.append(chunk)
        return None

    def _on_more_body(self, chunk: bytes) -> int | None:
        """The first piece comes with the head complete; a late one may be too much to collect."""
        if not self.status:
            if not self.judge_head() and self.fault is None:
                self.fault = (FailureKind.PROTOCOL_ERROR, "a body without a response header")
            if self.fault is not None:
                return _STOP
            if self.wire_bytes <= self._watermark:
                self._chunks.append(chunk)
                return None
        return self._on_large_body(chunk)

    def _on_large_body(self, chunk: bytes) -> int | None:
        """Switch from collecting to inflating as pieces arrive, and stop at the limit."""
        if self._stream is None:
            self._watermark = -1
            self._stream = StreamInflater(self._codings, self._body_limit) if self._codings else BytesIO()
            earlier, self._chunks = self._chunks, []
        else:
            earlier = []
        feed = self._stream.feed if isinstance(self._stream, StreamInflater) else self._stream.write
        try:
            for piece in earlier:
                feed(piece)
            if self.wire_bytes > self._wire_limit:
                feed(chunk[: self._wire_limit - self.wire_bytes])
                self._leave_body(FailureKind.TOO_LARGE, f"more than {self._wire_limit} bytes on the wire")
                return _STOP
            feed(chunk)
        except Undecodable as problem:
            self._leave_body(problem.kind, problem.detail)
            return _STOP
        return None

    def _on_ready_to_send(self, remote: str, _local: str, remote_port: int, local_port: int) -> int:
        dialler = self._dialler
        if dialler.dead and dialler.is_dead(Ends(remote, remote_port, local_port)):
            self.stale = True  # nothing has been sent: the fetcher starts again
            return _ABORT
        if self.sent:
            # libcurl would repeat a request when its reused connection dies; only the gate may decide that.
            self.fault = (FailureKind.RESET, "the connection was closed before a response")
            return _ABORT
        self.sent = monotonic()
        if self.on_sent is not None:
            self.on_sent()
        self._address = remote
        self._lines.clear()
        return _GO_ON

    # -- endings ------------------------------------------------------------------------------------------

    def _leave_body(self, kind: FailureKind, detail: str) -> None:
        """Stop reading; outside 2xx the answer stands without its body, and some requests want its beginning."""
        self._left_behind = not self._is_success() or self._keeps_beginning(kind)
        self.fault = (kind, detail)

    def _keeps_beginning(self, kind: FailureKind) -> bool:
        return self.request.keeps_beginning and kind in _OVERLONG

    def _is_success(self) -> bool:
        return 200 <= self.status < 300

    def _whole_body(self) -> bytes:
        stream = self._stream
        if stream is not None:
            return stream.finish() if isinstance(stream, StreamInflater) else stream.getvalue()
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self._codings:
            self._coded = body
            if self._codings == _GZIP:
                member = inflate_member(body, self._body_limit)
                if member is not None:
                    self._is_gzip_member = True
                    return member
            return inflate_whole(body, self._codings, self._body_limit)
        return body

    def _collected(self) -> bytes:
        """As much of the body as was received of an answer whose body was not needed."""
        if isinstance(self._stream, StreamInflater):
            return self._stream.so_far()
        if self._stream is not None:
            return self._stream.getvalue()
        return b"" if self._codings else b"".join(self._chunks)

    def _response(self, body: bytes, *, truncated: bool = False) -> Response:
        started = self.started
        headed = self._headed if self._headed < self._came else max(self._came, self.sent)
        date = self._headers.first.get("date")
        return Response(
            self.request.url,
            self.status,
            self._headers,
            body,
            self._version,
            self._address,
            self.started_at,
            self.sent - started,
            headed - started,
            monotonic() - started,
            self.wire_bytes,
            ", ".join(self._codings),
            truncated,
            None if date is None else parse_date(date, self.started_at // _DAY_S * _DAY_S),
            self._coded,
            self._is_gzip_member,
        )


_RECEIVE_BUFFER_BYTES = 65_536


def apply_settings(easy: pycurl.Curl, settings: FetchSettings, header_lines: list[bytes]) -> None:
    """Configure a new handle: identity, certificates and routes."""
    easy.setopt(pycurl.HTTPHEADER, header_lines)
    easy.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1)
    easy.setopt(pycurl.DNS_CACHE_TIMEOUT, settings.dns_cache_s)
    easy.setopt(pycurl.MAXAGE_CONN, settings.idle_connection_s)
    if not settings.keep_alive:
        easy.setopt(pycurl.FORBID_REUSE, 1)
    easy.setopt(pycurl.BUFFERSIZE, _RECEIVE_BUFFER_BYTES)
    ca_file = settings.ca_file or default_ca_file()
    if ca_file:
        easy.setopt(pycurl.CAINFO, ca_file)
        easy.setopt(pycurl.PROXY_CAINFO, ca_file)
    easy.setopt(pycurl.NOPROXY, "")
    easy.setopt(pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC)
    apply_proxy(easy, settings.proxy)


def apply_proxy(easy: pycurl.Curl, proxy: ProxySettings | Proxy | None) -> None:
    """Send the next requests through a proxy, or directly."""
    # An empty string: otherwise libcurl would use the environment.
    easy.setopt(pycurl.PROXY, "" if proxy is None else proxy.url)
    if proxy is None or proxy.user is None:
        easy.unsetopt(pycurl.PROXYUSERNAME)
        easy.unsetopt(pycurl.PROXYPASSWORD)
    else:
        easy.setopt(pycurl.PROXYUSERNAME, proxy.user)
        easy.setopt(pycurl.PROXYPASSWORD, proxy.password or "")


def default_ca_file() -> str | None:
    """The system's bundle of authorities, or certifi's where the system has none."""
    system: str | None = ssl.get_default_verify_paths().cafile
    if system or find_spec("certifi") is None:
        return system
    import certifi

    return certifi.where()


def unread_s(easy: pycurl.Curl) -> float:
    """How long ago the last data of a transfer's connection came, at least; 0 where the kernel does not say."""
    descriptor = easy.getinfo(pycurl.ACTIVESOCKET)
    if _TCP_INFO is None or not sys.platform.startswith("linux") or descriptor < 0:
        return 0.0
    try:
        # The class below `socket.socket`, which takes a third of its time: a busy loop asks this for most pages.
        borrowed = socket.SocketType(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
        try:
            found = borrowed.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA_RECEIVED + 4)
        finally:
            borrowed.detach()
    except OSError:
        return 0.0
    else:
        if len(found) == _LAST_DATA_RECEIVED + 4:
            milliseconds: int = unpack_from("=I", found, _LAST_DATA_RECEIVED)[0]
            return max(0.0, milliseconds / 1000 - _TICK_S)
    return 0.0


_TOO_LARGE: Final = 100  # CURLE_TOO_LARGE and CURLE_PROXY have no name in older pycurl
_PROXY: Final = 97
_HTTP2_STREAM: Final = 92

_OF_PROXY: Final = frozenset({FailureKind.CONNECT_FAILURE, FailureKind.CONNECT_TIMEOUT})

_KINDS: Final[dict[int, FailureKind]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: FailureKind.SCHEME_REFUSED,
    pycurl.E_URL_MALFORMAT: FailureKind.INVALID_URL,
    pycurl.E_COULDNT_RESOLVE_PROXY: FailureKind.PROXY_FAILURE,
    _PROXY: FailureKind.PROXY_FAILURE,
    pycurl.E_COULDNT_RESOLVE_HOST: FailureKind.DNS_FAILURE,
    pycurl.E_COULDNT_CONNECT: FailureKind.CONNECT_FAILURE,
    pycurl.E_OPERATION_TIMEDOUT: FailureKind.CONNECT_TIMEOUT,
    pycurl.E_PARTIAL_FILE: FailureKind.RESET,
    pycurl.E_GOT_NOTHING: FailureKind.RESET,
    pycurl.E_SEND_ERROR: FailureKind.RESET,
    pycurl.E_RECV_ERROR: FailureKind.RESET,
    pycurl.E_ABORTED_BY_CALLBACK: FailureKind.RESET,
    pycurl.E_FILESIZE_EXCEEDED: FailureKind.TOO_LARGE,
    _TOO_LARGE: FailureKind.HEADER_FLOOD,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.CERTIFICATE_REFUSED,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.CERTIFICATE_REFUSED,
    pycurl.E_SSL_INVALIDCERTSTATUS: FailureKind.CERTIFICATE_REFUSED,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS_FAILURE,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS_FAILURE,
    pycurl.E_SSL_CIPHER: FailureKind.TLS_FAILURE,
    pycurl.E_SSL_CACERT_BADFILE: FailureKind.TLS_FAILURE,
    pycurl.E_USE_SSL_FAILED: FailureKind.TLS_FAILURE,
    _HTTP2_STREAM: FailureKind.RESET,
}


def kind_of(code: int, message: str, *, asked: bool) -> FailureKind:
    """Name what went wrong; anything without a name of its own is a protocol error of the server.

    `asked` says whether the request was sent: after that, an "unsupported protocol" is in the answer, not in the URL.
    """
    if code == pycurl.E_UNSUPPORTED_PROTOCOL and asked:
        return FailureKind.PROTOCOL_ERROR
    lowered = message.lower()
    if "connect tunnel" in lowered or (code == pycurl.E_RECV_ERROR and "proxy" in lowered):
        return FailureKind.PROXY_FAILURE
    if code == pycurl.E_RECV_ERROR:
        # One code covers several errors; only the message distinguishes them.
        if "too large" in lowered:
            return FailureKind.HEADER_FLOOD
        if "chunk" in lowered or "header" in lowered:
            return FailureKind.PROTOCOL_ERROR
    return _KINDS.get(code, FailureKind.PROTOCOL_ERROR)
