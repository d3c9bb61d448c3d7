"""Structured logs: one line an event on stderr, as JSON for machines or as a sentence for people.

A process writes each line at once and as a whole, so that several can share one stream. What may be secret is masked
here, for every caller.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from comity.telemetry.events import Event, Level

_PASSWORD: Final = re.compile(r"(?<=://)([^/\s:@]*):[^/\s]*@")
_TOKEN: Final = re.compile(r"(?i)\b(password|passwd|secret|token|api[_-]?key|access[_-]?key)=[^&\s;]+")
_LONGEST: Final = 2_000  # characters of one value: a line must not become a page
_ITEMS_MOST: Final = 20

Fields = MutableMapping[str, Any]


class Log:
    """A log. Each process makes its own; nothing global is changed."""

    def __init__(self, *, as_json: bool, level: Level, write: Callable[[str], None] | None = None) -> None:
        self.as_json = as_json
        self._level = level
        self._write = write or _write_to_stderr
        self._logger: Any = None

    def tells(self, level: Level) -> bool:
        """Whether an event of this level is written at all."""
        return level >= self._level

    def emit(self, event: Event, message: str, level: Level | None = None, **fields: Any) -> None:
        """Log an event, unless its level is too low."""
        wanted = event.level if level is None else level
        if wanted < self._level:
            return
        if self._logger is None:
            self._logger = self._made()
        self._logger.log(wanted, event.name, message=message, process=os.getpid(), **fields)

    def _made(self) -> Any:
        import structlog  # slow to import, and a quiet command says nothing

        return structlog.wrap_logger(
            _Lines(self._write),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
                _masked,
                _as_json_line if self.as_json else _as_sentence,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(int(self._level)),
            cache_logger_on_first_use=True,
        )


def open_log(log_format: str, level: str, *, asked_for_json: bool = False) -> Log:
    """A log in the format that the settings choose; `auto` is text on a terminal and JSON elsewhere."""
    is_seen = sys.stderr is not None and sys.stderr.isatty()
    as_json = asked_for_json or log_format == "json" or (log_format == "auto" and not is_seen)
    return Log(as_json=as_json, level=Level[level.upper()])


def masked(text: str) -> str:
    """A text without the passwords and tokens of the URLs in it, and not too long."""
    text = _TOKEN.sub(r"\1=***", _PASSWORD.sub(r"\1:***@", text))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _masked(_logger: Any, _name: str, fields: Fields) -> Fields:
    return {name: _without_secrets(value) for name, value in fields.items()}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list | tuple):
        return [_without_secrets(each) for each in value[:_ITEMS_MOST]]
    return value


def _as_json_line(_logger: Any, _name: str, fields: Fields) -> str:
    first = {name: fields.pop(name) for name in ("at", "level", "event") if name in fields}
    return json.dumps(first | dict(fields), default=_spelled)


def _spelled(value: Any) -> str:
    """A time ends in Z, as in all other JSON of Comity."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)


def _as_sentence(_logger: Any, _name: str, fields: Fields) -> str:
    text = str(fields.get("message") or fields.get("event"))
    if not text.isprintable():  # what a terminal would obey is escaped instead
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"comity: {text}"


class _Lines:
    """The output of structlog."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def msg(self, line: str) -> None:
        """Write one line; ignores that the reader is gone."""
        with suppress(OSError, ValueError):
            self._write(line + "\n")

    debug = info = warning = error = msg


def _write_to_stderr(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(line)
        sys.stderr.flush()
