"""Triggers on `domain_policies` that keep its history, so that an edit by hand is remembered like any other.

An edit holds from its own `updated_at`; one that leaves that alone holds from the moment it was made.
"""

from __future__ import annotations

from typing import Final

_COLUMNS: Final = "host, valid_from, is_deleted, max_concurrency, min_request_interval_ms"
_LIMITS: Final = ("max_concurrency", "min_request_interval_ms")

_POSTGRESQL: Final = f"""
CREATE OR REPLACE FUNCTION note_policy() RETURNS TRIGGER AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND NEW.host <> OLD.host) THEN
        INSERT INTO policy_history ({_COLUMNS})
            VALUES (OLD.host, CURRENT_TIMESTAMP, true, OLD.max_concurrency, OLD.min_request_interval_ms);
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO policy_history ({_COLUMNS})
            VALUES (NEW.host, NEW.updated_at, false, NEW.max_concurrency, NEW.min_request_interval_ms);
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.host, NEW.max_concurrency, NEW.min_request_interval_ms)
            IS DISTINCT FROM (OLD.host, OLD.max_concurrency, OLD.min_request_interval_ms) THEN
            INSERT INTO policy_history ({_COLUMNS})
                VALUES (
                    NEW.host,
                    CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at
                        THEN NEW.updated_at ELSE CURRENT_TIMESTAMP END,
                    false, NEW.max_concurrency, NEW.min_request_interval_ms
                );
        END IF;
    END IF;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql
"""  # noqa: S608  # our own words
_SQLITE_NOW: Final = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"
_CHANGED: Final = " OR ".join(f"NEW.{name} <> OLD.{name}" for name in ("host", *_LIMITS))


def create_statements(dialect: str) -> list[str]:
    """The statements that put the triggers in place."""
    if dialect == "postgresql":
        return [
            _POSTGRESQL,
            "CREATE TRIGGER domain_policies_history_trigger AFTER INSERT OR UPDATE OR DELETE ON domain_policies\n"
            "    FOR EACH ROW EXECUTE FUNCTION note_policy()",
        ]
    return [
        _sqlite("insert", "AFTER INSERT", [_row("NEW", "NEW.updated_at")]),
        _sqlite(
            "update",
            "AFTER UPDATE",
            [
                _row("OLD", _SQLITE_NOW, is_deleted=True, where="NEW.host <> OLD.host"),
                _row("NEW", f"CASE WHEN NEW.updated_at IS OLD.updated_at THEN {_SQLITE_NOW} ELSE NEW.updated_at END"),
            ],
            when=_CHANGED,
        ),
        _sqlite("delete", "AFTER DELETE", [_row("OLD", _SQLITE_NOW, is_deleted=True)]),
    ]


def drop_statements(dialect: str) -> list[str]:
    """The statements that take the triggers away."""
    if dialect == "postgresql":
        return [
            "DROP TRIGGER IF EXISTS domain_policies_history_trigger ON domain_policies",
            "DROP FUNCTION IF EXISTS note_policy()",
        ]
    return [
        f"DROP TRIGGER IF EXISTS domain_policies_{event}_history_trigger" for event in ("insert", "update", "delete")
    ]


def _sqlite(event: str, moment: str, rows: list[str], when: str = "") -> str:
    condition = f" WHEN {when}" if when else ""
    body = "\n".join(f"    {row};" for row in rows)
    return (
        f"CREATE TRIGGER domain_policies_{event}_history_trigger {moment} ON domain_policies\n"
        f"    FOR EACH ROW{condition}\nBEGIN\n{body}\nEND"
    )


def _row(side: str, valid_from: str, *, is_deleted: bool = False, where: str = "") -> str:
    limits = ", ".join(f"{side}.{name}" for name in _LIMITS)
    values = f"{side}.host, {valid_from}, {int(is_deleted)}, {limits}"
    condition = f" WHERE {where}" if where else ""
    return f"INSERT INTO policy_history ({_COLUMNS}) SELECT {values}{condition}"  # our own words
