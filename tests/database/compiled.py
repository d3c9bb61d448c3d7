"""Statements are compiled once for all databases of a test process, not once for each.

SQLAlchemy keeps compiled statements per engine, and nearly every test opens an engine of its own; compiling the same
statements again took about a fifth of such a test's processor time. The text depends on the dialect's class only:
ours have no options that change it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine

KEPT_MOST = 2000


class _ByDialectClass(dict[tuple[Any, ...], Any]):
    """What SQLAlchemy asks of a `compiled_cache`; the first part of its key is the engine's own dialect object."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        if len(self) >= KEPT_MOST:
            self.clear()
        super().__setitem__((type(key[0]), *key[1:]), compiled)


def share_compiled_statements() -> None:
    """Let every engine that this process opens from now on use one cache."""
    cache = _ByDialectClass()

    @event.listens_for(Engine, "engine_connect")
    def use(connection: Connection) -> None:
        connection.execution_options(compiled_cache=cache)
