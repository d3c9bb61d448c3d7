"""URLs for logs: user names, passwords, and values of parameters whose names say that they are secret, are masked."""

from __future__ import annotations

import re
from typing import Final

_MASK: Final = "***"
_USER: Final = re.compile(r"(?<=://)[^/?#@\s]*(?:@[^/?#@\s]*)*@")
# Names that carry credentials, sessions or signatures, alone or at the end of a longer name: `X-Amz-Signature`.
_NAMES: Final = (
    "password|passwd|pass|pwd|secret|token|jwt|api[_-]?key|apikey|access[_-]?key|private[_-]?key|key|auth|authorization|"
    "credential|credentials|sig|sign|signature|session|session[_-]?id|sid|phpsessid|jsessionid|code|otp|pin|ticket|sas"
)
_PARAMETER: Final = re.compile(rf"(?i)(?<=[?&;#])((?:[\w.%-]*[_.-])?(?:{_NAMES}))=[^&;#\s]*")


def masked_url(url: str) -> str:
    """A URL without its secrets."""
    if "@" in url:
        url = _USER.sub(f"{_MASK}@", url, count=1)
    if "=" in url:
        url = _PARAMETER.sub(rf"\1={_MASK}", url)
    return url
