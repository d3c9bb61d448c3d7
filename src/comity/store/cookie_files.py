"""Cookies that are kept with their hosts between leases: one file per host, readable by its owner alone.

They give the same access as passwords, so they are not in the state, where reports, exports and backups would copy them
(docs/decisions/0013-kept-cookies.md).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from comity.model.errors import ComityError
from comity.model.fetch import Cookie

_MOST_BYTES: Final = 1 << 20


class CookieFiles:
    """A folder of cookies. `load` and `save` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, host: str) -> Path:
        """The file of a host."""
        return self.folder / f"{quote(host, safe='')}.json"

    def load(self, host: str) -> tuple[Cookie, ...]:
        """The cookies of a host; none if there is no file, or it cannot be read."""
        with suppress(OSError, ValueError, TypeError):
            with self.path(host).open("rb") as file:
                rows = json.loads(file.read(_MOST_BYTES))
            return tuple(Cookie(*row) for row in rows)
        return ()

    def save(self, host: str, cookies: tuple[Cookie, ...]) -> None:
        """Keep the cookies of a host instead of those before; without any, the file is deleted."""
        path = self.path(host)
        try:
            if not cookies:
                path.unlink(missing_ok=True)
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = path.with_suffix(f".{os.getpid()}.new")
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(descriptor, 0o600)
                json.dump(cookies, file)
            new.replace(path)
        except OSError as error:
            raise ComityError(f"the cookies of {host} could not be saved in {self.folder}: {error.strerror}") from None
