"""What the database itself guards: the life of a host, and the age of its row.

The statements are generated from the table of legal moves, so that hand-written SQL is held to
the same rules as the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Moves = Mapping[str, Sequence[str]]

# A host that was done or left alone and is to be crawled again is due now, also where only its status was set by hand
# (S1 §8.3, scenario 4): the time that it was to wait until was that of its former status.
_WOKEN: Final = "NEW.status IN ('pending', 'active') AND OLD.status NOT IN ('pending', 'active')"


def create_statements(dialect: str, moves: Moves) -> list[str]:
    """The statements that put the guards in place."""
    return _postgresql(moves) if dialect == "postgresql" else _sqlite(moves)


def drop_statements(dialect: str) -> list[str]:
    """The statements that take the guards away."""
    if dialect == "postgresql":
        return [
            "DROP TRIGGER IF EXISTS domains_status_trigger ON domains",
            "DROP TRIGGER IF EXISTS domains_updated_at_trigger ON domains",
            "DROP FUNCTION IF EXISTS check_domain_status()",
            "DROP FUNCTION IF EXISTS update_domains_updated_at()",
        ]
    return [
        "DROP TRIGGER IF EXISTS domains_status_trigger",
        "DROP TRIGGER IF EXISTS domains_woken_trigger",
        "DROP TRIGGER IF EXISTS domains_updated_at_trigger",
    ]


def _sentence(before: str, after: Sequence[str]) -> str:
    return f"{before} may only become {', '.join(after[:-1])} or {after[-1]}"


def _postgresql(moves: Moves) -> list[str]:
    legal = " OR ".join(
        f"(OLD.status = '{before}' AND NEW.status IN ({_quoted(after)}))" for before, after in moves.items()
    )
    hints = " ".join(f"WHEN '{before}' THEN '{_sentence(before, after)}'" for before, after in moves.items())
    return [
        f"""
CREATE OR REPLACE FUNCTION check_domain_status() RETURNS TRIGGER AS $$
BEGIN
    IF NOT ({legal}) THEN
        RAISE EXCEPTION 'illegal status change of %: % to %', OLD.domain, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', HINT = CASE OLD.status::text {hints} END;
    END IF;
    IF {_WOKEN} AND NEW.next_crawl_after IS NOT DISTINCT FROM OLD.next_crawl_after THEN
        NEW.next_crawl_after = NULL;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql
""",
        """
CREATE TRIGGER domains_status_trigger BEFORE UPDATE OF status ON domains
    FOR EACH ROW EXECUTE FUNCTION check_domain_status()
""",
        """
CREATE OR REPLACE FUNCTION update_domains_updated_at() RETURNS TRIGGER AS $$
BEGIN
    NEW.updated_at = CURRENT_TIMESTAMP;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql
""",
        """
CREATE TRIGGER domains_updated_at_trigger BEFORE UPDATE ON domains
    FOR EACH ROW EXECUTE FUNCTION update_domains_updated_at()
""",
    ]


def _sqlite(moves: Moves) -> list[str]:
    legal = " OR ".join(
        f"(OLD.status = '{before}' AND NEW.status IN ({_quoted(after)}))" for before, after in moves.items()
    )
    refusals = " ".join(
        f"WHEN '{before}' THEN RAISE(ABORT, 'illegal status change: {_sentence(before, after)}')"
        for before, after in moves.items()
    )
    return [
        f"""
CREATE TRIGGER domains_status_trigger BEFORE UPDATE OF status ON domains
    FOR EACH ROW WHEN NOT ({legal})
BEGIN
    SELECT CASE OLD.status {refusals} ELSE RAISE(ABORT, 'illegal status change') END;
END
""",
        f"""
CREATE TRIGGER domains_woken_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN {_WOKEN} AND NEW.next_crawl_after IS OLD.next_crawl_after AND NEW.next_crawl_after IS NOT NULL
BEGIN
    UPDATE domains SET next_crawl_after = NULL WHERE id = NEW.id;
END
""",  # noqa: S608  # no value comes from outside
        # A row that says when it changed keeps its word; any other is stamped.
        """
CREATE TRIGGER domains_updated_at_trigger AFTER UPDATE ON domains
    FOR EACH ROW WHEN NEW.updated_at IS OLD.updated_at
BEGIN
    UPDATE domains SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END
""",
    ]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
