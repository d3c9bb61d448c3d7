"""libcurl's error numbers in our words: a number and its message enter, a kind of failure leaves."""

from __future__ import annotations

from typing import Final

import pycurl

from comity.model.fetch import FailureKind

_TOO_LARGE: Final = 100  # CURLE_TOO_LARGE and CURLE_PROXY have no name in older pycurl
_PROXY: Final = 97
_HTTP2_STREAM: Final = 92

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
    """Name what went wrong; what has no name of its own was the server's breach of protocol.

    `asked` tells whether the request was sent: from then on an "unsupported protocol" is the answer's, not the URL's.
    """
    if code == pycurl.E_UNSUPPORTED_PROTOCOL and asked:
        return FailureKind.PROTOCOL_ERROR
    lowered = message.lower()
    if "connect tunnel" in lowered or (code == pycurl.E_RECV_ERROR and "proxy" in lowered):
        return FailureKind.PROXY_FAILURE
    if code == pycurl.E_RECV_ERROR:
        # One number stands for several things; only the message tells them apart.
        if "too large" in lowered:
            return FailureKind.HEADER_FLOOD
        if "chunk" in lowered or "header" in lowered:
            return FailureKind.PROTOCOL_ERROR
    return _KINDS.get(code, FailureKind.PROTOCOL_ERROR)
