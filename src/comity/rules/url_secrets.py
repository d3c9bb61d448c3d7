"""URLs for logs and viewers, with anything that is or may be secret masked.

In most URLs that is a user name, a password, or the value of a parameter whose name says so. In the URL of a webhook it
may be anything after the host: many receivers identify their callers by a secret path.
"""

from __future__ import annotations

import re
from typing import Final

_MASK: Final = "***"
_USER: Final = re.compile(r"(?:(?<=://)|(?<=^//))[^/?#@\s]*(?:@[^/?#@\s]*)*@")
# Names that carry credentials, sessions or signatures, alone or at the end of a longer name: `X-Amz-Signature`.
_NAMES: Final = (
    "password|passwd|pass|pwd|secret|token|jwt|api[_-]?key|apikey|access[_-]?key|private[_-]?key|key|auth|authorization|"
    "credential|credentials|sig|sign|signature|session|session[_-]?id|sid|phpsessid|jsessionid|code|otp|pin|ticket|sas"
)
# These are long enough to be recognized at the end of any name: `AWSAccessKey`.
_LONG_NAMES: Final = "password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signature|session[_-]?id"
_NAME: Final = rf"((?:[\w.%-]*[_.-])?(?:{_NAMES})|[\w.%-]*(?:{_LONG_NAMES}))="
_IN_QUERY: Final = re.compile(rf"(?i)((?:^|[&;#])){_NAME}[^&;#\s]*")
_IN_PATH: Final = re.compile(rf"(?i)(;){_NAME}[^/;#\s]*")  # `;jsessionid=…`
_IN_FRAGMENT: Final = re.compile(rf"(?i)([#&]){_NAME}[^&#\s]*")


def masked_url(url: str) -> str:
    """A URL without its secrets."""
    if "@" in url:
        url = _USER.sub(f"{_MASK}@", url, count=1)
    if "=" not in url:
        return url
    path, mark, query = url.partition("?")
    path = _IN_FRAGMENT.sub(_MASKED, _IN_PATH.sub(_MASKED, path))
    return path + mark + _IN_QUERY.sub(_MASKED, query)


def only_origin(url: str) -> str:
    """A URL without anything after its host and port."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return _REST
    authority = _AFTER_AUTHORITY.split(rest, maxsplit=1)[0]
    is_all = rest in (authority, f"{authority}/")
    return f"{scheme}://{authority.rpartition('@')[2]}/{'' if is_all else _REST}"


_REST: Final = "…"
_AFTER_AUTHORITY: Final = re.compile(r"[/?#\\]")
_MASKED: Final = rf"\1\2={_MASK}"
