"""The options of a handle that follow from the settings: set once, when the handle is made."""

from __future__ import annotations

import ssl
from importlib.util import find_spec

import pycurl

from comity.fetch.settings import FetchSettings

_RECEIVE_BUFFER_BYTES = 65_536


def apply_settings(easy: pycurl.Curl, settings: FetchSettings, header_lines: list[bytes]) -> None:
    """Tell a new handle who we are, whom we trust and which way we go."""
    easy.setopt(pycurl.HTTPHEADER, header_lines)
    easy.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1)
    easy.setopt(pycurl.DNS_CACHE_TIMEOUT, settings.dns_cache_s)
    easy.setopt(pycurl.MAXAGE_CONN, settings.idle_connection_s)
    easy.setopt(pycurl.BUFFERSIZE, _RECEIVE_BUFFER_BYTES)
    ca_file = settings.ca_file or default_ca_file()
    if ca_file:
        easy.setopt(pycurl.CAINFO, ca_file)
    # Empty strings, because without them libcurl would listen to the environment.
    easy.setopt(pycurl.PROXY, "" if settings.proxy is None else settings.proxy.url)
    easy.setopt(pycurl.NOPROXY, "")
    if settings.proxy is None:
        return
    if ca_file:
        easy.setopt(pycurl.PROXY_CAINFO, ca_file)
    if settings.proxy.user is not None:
        easy.setopt(pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC)
        easy.setopt(pycurl.PROXYUSERNAME, settings.proxy.user)
        easy.setopt(pycurl.PROXYPASSWORD, settings.proxy.password or "")


def default_ca_file() -> str | None:
    """The system's bundle of authorities, or certifi's where the system has none."""
    system: str | None = ssl.get_default_verify_paths().cafile
    if system or find_spec("certifi") is None:
        return system
    import certifi

    return certifi.where()
