"""Settings of a connection that `SET` changes: those that only Comity has, and those of DuckDB's that crawls follow."""

from __future__ import annotations

from contextlib import closing, suppress
from functools import cache
from typing import Any, Final

import duckdb

from comity.doors.sql.database_file import without_database
from comity.model.statement import CrawlerSetting
from comity.rules.sql.options import DUCKDB_SETTINGS, SETTINGS, SqlCrawlOptions, read_setting
from comity.rules.sql.statements import print_statement
from comity.run.sql.options import TIMEOUT_S
from comity.store.sql_table import is_filling

_FIELDS: Final = {
    "crawler_user_agent": "user_agent",
    "crawler_default_delay": "delay_s",
    "crawler_timeout_ms": "timeout_s",
    "crawler_max_response_bytes": "max_response_bytes",
    "crawler_respect_robots": "respect_robots",
    "http_timeout": "http_timeout_s",
    "http_keep_alive": "keep_alive",
}
_OF_DUCKDB: Final = {
    "http_proxy": "proxy",
    "http_proxy_username": "proxy_user",
    "http_proxy_password": "proxy_password",
}


class SessionSettings:
    """What one connection was set to; a cursor begins with those of its connection."""

    def __init__(self, chosen: dict[str, Any] | None = None) -> None:
        self._chosen = dict(chosen or {})

    def copy(self) -> SessionSettings:
        """The same settings, for another connection."""
        return SessionSettings(self._chosen)

    @property
    def respects_robots(self) -> bool:
        """What `SET crawler_respect_robots` says."""
        return bool(self._chosen.get("respect_robots", True))

    def run(self, duck: Any, statement: CrawlerSetting) -> None:
        """Change a setting, or set it back; `BadInput` if there is none of this name, or the value does not fit."""
        name = statement.name
        if name in DUCKDB_SETTINGS and _is_known(duck, name):
            duck.execute(print_statement(statement))
        elif statement.is_reset and name in SETTINGS:
            self._chosen.pop(_FIELDS[name], None)
        else:
            self._chosen[_FIELDS[name]] = read_setting(name, statement.value)

    def shown(self, duck: Any) -> dict[str, Any]:
        """Our own settings with their values, as `current_setting` shows them."""
        chosen, default = self._chosen, SqlCrawlOptions()
        own = {
            "crawler_user_agent": chosen.get("user_agent"),
            "crawler_default_delay": chosen.get("delay_s", default.default_crawl_delay),
            "crawler_timeout_ms": round(chosen.get("timeout_s", TIMEOUT_S) * 1000),
            "crawler_max_response_bytes": chosen.get("max_response_bytes", default.max_response_bytes),
            "crawler_respect_robots": self.respects_robots,
        }
        of_duckdb = {
            "http_timeout": round(chosen.get("http_timeout_s", TIMEOUT_S)),
            "http_keep_alive": chosen.get("keep_alive", True),
        }
        return own | {name: value for name, value in of_duckdb.items() if not _is_known(duck, name)}

    def of_crawls(self, duck: Any) -> dict[str, Any]:
        """What they say about crawls; DuckDB's `threads` counts once it is not its default."""
        found: dict[str, Any] = {}
        for name, field in _OF_DUCKDB.items():
            with suppress(duckdb.Error):
                value = _current(duck, name)
                if value:
                    found[field] = value if field != "proxy" or "://" in value else f"http://{value}"
        for name in DUCKDB_SETTINGS:
            if _is_known(duck, name):
                found[_FIELDS[name]] = _current(duck, name)
        # While another statement of this process fills its table, one thread is not the user's choice.
        threads = _current(duck, "threads")
        if threads != _default_threads() and not (threads == 1 and is_filling()):
            found["threads"] = threads
        return found | self._chosen


def _current(duck: Any, name: str) -> Any:
    ((value,),) = duck.execute("SELECT current_setting(?)", [name]).fetchall()
    return value


def _is_known(duck: Any, name: str) -> bool:
    return bool(duck.execute("SELECT 1 FROM duckdb_settings() WHERE name = ?", [name]).fetchall())


@cache
def _default_threads() -> int:
    with closing(without_database().cursor()) as apart:
        return int(_current(apart, "threads"))
