"""Users of the console: add, list, change and remove them, and check a password.

A password is stored as its Argon2id hash. The user "admin" may be a setting instead of a row; the setting then decides.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from comity.clock import Clock
from comity.database import console
from comity.database.connection import Database
from comity.model.console import ADMIN_NAME, ConsoleUser, Role
from comity.model.errors import AlreadyThere, BadInput, NotFound, Remedy, RemedyCode

SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1024
USER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_REMEDY: Final = Remedy(RemedyCode.LIST_USERS)


def hash_password(password: str) -> str:
    """The Argon2id hash of a password; `BadInput` if it is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadInput("password", f"must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    from argon2 import PasswordHasher

    return PasswordHasher().hash(password)


def is_password(known_hash: str, password: str) -> bool:
    """Whether a password matches a hash. Slow and memory-hungry on purpose."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def check_name(name: str) -> str:
    """A user's name in the form in which it is stored, lower case; raises `BadInput` if it is not allowed."""
    name = name.strip().lower()
    if not USER_NAME.fullmatch(name):
        raise BadInput("name", "must have 1 to 64 letters, digits, dots, dashes, underscores or @")
    return name


def add_user(database: Database, clock: Clock, name: str, password: str, role: Role) -> ConsoleUser:
    """Add a user; raises `AlreadyThere` if the name is taken."""
    name, known_hash = check_name(name), hash_password(password)
    with database.write() as connection:
        if not console.add_user(connection, name, known_hash, role, database.now(clock)):
            raise AlreadyThere(f"there is already a user {name}", remedy=_REMEDY)
        return _user(console.user(connection, name))


def list_users(database: Database) -> list[ConsoleUser]:
    """Every user, by name."""
    with database.read() as connection:
        return [_user(row) for row in console.users(connection)]


def change_password(database: Database, name: str, password: str) -> ConsoleUser:
    """Give a user another password. Every session of the user ends."""
    return _change(database, name, password_hash=hash_password(password))


def change_role(database: Database, name: str, role: Role) -> ConsoleUser:
    """Give a user another role, which takes effect at the next request."""
    return _change(database, name, role=str(role))


def remove_user(database: Database, name: str) -> None:
    """Remove a user. Every session of the user ends."""
    with database.write() as connection:
        console.end_sessions(connection, name)
        if not console.remove_user(connection, name):
            raise _unknown(name)


def has_users(database: Database) -> bool:
    """Whether there are users other than the one in the settings."""
    with database.read() as connection:
        return console.has_users(connection)


def hash_of(database: Database, name: str, admin_password_hash: str | None) -> str | None:
    """The password hash of a user, from the settings or the state; None if there is no such user."""
    if name == ADMIN_NAME and admin_password_hash is not None:
        return admin_password_hash
    if not USER_NAME.fullmatch(name):
        return None
    with database.read() as connection:
        row = console.user(connection, name)
    return None if row is None else str(row.password_hash)


@cache
def decoy_hash() -> str:
    """A hash that no password matches, so that checking an unknown name takes as long as checking a known one."""
    import secrets

    return hash_password(secrets.token_urlsafe(32))


def _change(database: Database, name: str, **values: Any) -> ConsoleUser:
    with database.write() as connection:
        if not console.change_user(connection, name, values):
            raise _unknown(name)
        if "password_hash" in values:
            console.end_sessions(connection, name)
        return _user(console.user(connection, name))


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no user {name[:64]}", remedy=_REMEDY)


def _user(row: Any) -> ConsoleUser:
    return ConsoleUser(row.name, Role(row.role), row.created_at, row.last_login_at)
