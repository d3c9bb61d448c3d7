"""Secrets of type HTTP that a session created: DuckDB stores them without showing their values, which are kept here.

They stay in memory, and their headers go only to the hosts of a query that the scope of a secret covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from comity.model.errors import BadInput
from comity.rules.sql.secrets import (
    KeptSecret,
    SecretStatement,
    check_scope,
    has_parameters,
    read_secret_statement,
    secret_for,
    secret_headers,
)
from comity.rules.sql.seeds import QuerySeed

_VALUES: Final = ("bearer_token", "extra_http_headers")


class SessionSecrets:
    """The secrets of one database, for all its cursors."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptSecret] = {}  # by name

    def run(self, duck: Any, text: str, parameters: object) -> bool:
        """Run a statement that creates or drops a secret, and remember its values; False for any other statement."""
        secret = read_secret_statement(text)
        if secret is None:
            return False
        is_there = secret.keeps_existing and secret.name in _described(duck)
        duck.execute(text, parameters)  # DuckDB checks and stores it
        if secret.values is None:
            self._kept.pop(secret.name, None)
        elif not is_there:
            self._keep(duck, secret, secret.values, parameters)
        return True

    def headers_for(self, duck: Any, seeds: Sequence[QuerySeed]) -> tuple[str, ...]:
        """Headers of secrets for the origins of the query: no other host gets any of them, whatever leads there."""
        described = _described(duck)
        scopes = {name: listed for name, (_description, listed) in described.items()}
        for name, listed in scopes.items():
            check_scope(name, [scope for scope in listed if any(seed.address.url.startswith(scope) for seed in seeds)])
        found: list[str] = []
        for origin in dict.fromkeys(seed.address.origin for seed in seeds) if scopes else ():
            chosen = secret_for(origin, scopes)
            if chosen is None:
                continue
            kept = self._kept.get(chosen)
            # A rollback, for example, brings back a secret with another scope.
            if kept is None or kept.description != described[chosen][0]:
                raise BadInput(f"the secret {chosen}", "its values are not known here; create it again in this session")
            found += [f"{origin}: {key}: {value}" for key, value in secret_headers(chosen, kept.values)]
        return tuple(found)

    def _keep(self, duck: Any, secret: SecretStatement, values: Mapping[str, str], parameters: object) -> None:
        # All that have parameters: those of the statement are passed on as they are.
        asked = {key: said for key, said in values.items() if key in _VALUES or has_parameters(said)}
        kept: dict[str, Any] = {}
        if asked:
            with closing(duck.cursor()) as cursor:
                (row,) = cursor.execute(f"SELECT {', '.join(asked.values())}", parameters).fetchall()
            kept = {key: value for key, value in zip(asked, row, strict=True) if key in _VALUES}
        self._kept[secret.name] = KeptSecret(kept, _described(duck).get(secret.name, ("", ()))[0])


def _described(duck: Any) -> dict[str, tuple[str, Sequence[str]]]:
    """How DuckDB describes the HTTP secrets that it has, and their scopes, by their names."""
    asked = "SELECT lower(name), secret_string, scope FROM duckdb_secrets() WHERE type = 'http'"
    return {name: (described, scopes) for name, described, scopes in duck.execute(asked).fetchall()}
