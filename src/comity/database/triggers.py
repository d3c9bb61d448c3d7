"""Triggers: legal status changes of hosts and their history, the time of their last change, the history of policies.

The statements are generated from the table of legal moves, so that hand-written SQL is held to
the same rules as the code. A new row is checked as well as a change, and SQLite's REPLACE as well as both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy.exc import IntegrityError

from comity.rules.host_transitions import BACKFILL, FIRST, FIRST_OF_BACKFILL

STATUS_TRIGGER: Final = "domains_status_trigger"  # named in the error of a change that it refuses (PostgreSQL)
_REPLACED: Final = "(replaced)"

Moves = Mapping[str, Sequence[str]]

# A host that was done or left alone and is to be crawled again is due now, also where only its status was set in SQL
# (an operator need write nothing else): the time that it was to wait until was that of its former status.
_WOKEN: Final = "NEW.status IN ('pending', 'active') AND OLD.status NOT IN ('pending', 'active')"


_SQLITE_NOW: Final = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"


def create_statements(dialect: str, moves: Moves) -> list[str]:
    """The statements that create the guards."""
    from comity.database.queue.triggers import create_job_triggers  # a crawl imports this module, but makes no triggers

    of_hosts = _postgresql(moves) if dialect == "postgresql" else _sqlite(moves)
    frontiers = _create_frontier_triggers(dialect)
    return of_hosts + create_policy_triggers(dialect) + frontiers + create_job_triggers(dialect)


def drop_statements(dialect: str) -> list[str]:
    """The statements that drop the guards."""
    from comity.database.queue.triggers import drop_job_triggers

    return (
        _drop_of_hosts(dialect)
        + drop_policy_triggers(dialect)
        + _drop_frontier_triggers(dialect)
        + drop_job_triggers(dialect)
    )


_WITH_FRONTIERS: Final = ("domains", "visit_list_hosts")
_OF_FRONTIERS: Final = ("domain_frontier", "sitemaps")


def _create_frontier_triggers(dialect: str) -> list[str]:
    """What a host, or a host of a list, has to visit goes with it: a row may be of either, so no key can say so."""
    deletes = " ".join(f"DELETE FROM {table} WHERE domain_id = OLD.id;" for table in _OF_FRONTIERS)  # noqa: S608
    if dialect != "postgresql":
        return [
            f"CREATE TRIGGER {owner}_frontier_trigger AFTER DELETE ON {owner}\n"
            f"    FOR EACH ROW\nBEGIN\n    {deletes}\nEND"
            for owner in _WITH_FRONTIERS
        ]
    function = (
        "CREATE OR REPLACE FUNCTION delete_frontier() RETURNS TRIGGER AS $$\n"
        f"BEGIN\n    {deletes}\n    RETURN OLD;\nEND;\n$$ LANGUAGE plpgsql"
    )
    return [
        function,
        *(
            f"CREATE TRIGGER {owner}_frontier_trigger AFTER DELETE ON {owner}\n"
            "    FOR EACH ROW EXECUTE FUNCTION delete_frontier()"
            for owner in _WITH_FRONTIERS
        ),
    ]


def _drop_frontier_triggers(dialect: str) -> list[str]:
    on = dialect == "postgresql"
    dropped = [
        f"DROP TRIGGER IF EXISTS {owner}_frontier_trigger{f' ON {owner}' if on else ''}" for owner in _WITH_FRONTIERS
    ]
    return [*dropped, "DROP FUNCTION IF EXISTS delete_frontier()"] if on else dropped


def _drop_of_hosts(dialect: str) -> list[str]:
    if dialect == "postgresql":
        return [
            "DROP TRIGGER IF EXISTS domains_status_trigger ON domains",
            "DROP TRIGGER IF EXISTS domains_first_status_trigger ON domains",
            "DROP TRIGGER IF EXISTS domains_updated_at_trigger ON domains",
            "DROP TRIGGER IF EXISTS domains_moves_trigger ON domains",
            "DROP FUNCTION IF EXISTS note_domain_move()",
            "DROP FUNCTION IF EXISTS check_domain_status()",
            "DROP FUNCTION IF EXISTS refuse_first_domain_status()",
            "DROP FUNCTION IF EXISTS update_domains_updated_at()",
        ]
    return [
        "DROP TRIGGER IF EXISTS domains_status_trigger",
        "DROP TRIGGER IF EXISTS domains_first_status_trigger",
        "DROP TRIGGER IF EXISTS domains_replace_trigger",
        "DROP TRIGGER IF EXISTS domains_overwrite_trigger",
        "DROP TRIGGER IF EXISTS domains_woken_trigger",
        "DROP TRIGGER IF EXISTS domains_moves_trigger",
        "DROP TRIGGER IF EXISTS domains_updated_at_trigger",
    ]


def _is_wrong_first() -> str:
    """The condition of a new row whose status is none that a row may begin with."""
    backfilled = f"coalesce(NEW.source, '') LIKE '{BACKFILL}%' AND NEW.status IN ({_quoted(tuple(FIRST_OF_BACKFILL))})"
    return f"NEW.status <> '{FIRST}' AND NOT ({backfilled})"


def _first_sentence() -> str:
    others = ", ".join(FIRST_OF_BACKFILL)
    return f"a new host is {FIRST}, or, where its source begins with {BACKFILL}, {others}"


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
            USING ERRCODE = 'check_violation', CONSTRAINT = '{STATUS_TRIGGER}',
            HINT = CASE OLD.status::text {hints} END;
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
        f"""
CREATE OR REPLACE FUNCTION refuse_first_domain_status() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status of the new host %: %', NEW.domain, NEW.status
        USING ERRCODE = 'check_violation', HINT = '{_first_sentence()}';
END;
$$ LANGUAGE plpgsql
""",
        # After, not before: an INSERT … ON CONFLICT that finds a row makes none.
        f"""
CREATE TRIGGER domains_first_status_trigger AFTER INSERT ON domains
    FOR EACH ROW WHEN ({_is_wrong_first()}) EXECUTE FUNCTION refuse_first_domain_status()
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
        f"""
CREATE OR REPLACE FUNCTION note_domain_move() RETURNS TRIGGER AS $$
BEGIN
    {_move("CURRENT_TIMESTAMP")};
    RETURN NULL;
END;
$$ LANGUAGE plpgsql
""",
        """
CREATE TRIGGER domains_moves_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_domain_move()
""",
    ]


def _move(now: str) -> str:
    """Note a change of status, with its reason and the lease under which it happened."""
    columns = "domain_id, moved_at, from_status, to_status, reason_code, reason, holder"
    left_alone = "NEW.status IN ('blocked', 'unreachable')"
    return (
        f"INSERT INTO domain_moves ({columns}) VALUES (NEW.id, {now}, OLD.status, NEW.status, "  # noqa: S608
        f"CASE WHEN {left_alone} THEN NEW.block_reason_code END, CASE WHEN {left_alone} THEN NEW.block_reason END, "
        "coalesce(NEW.claimed_by, OLD.claimed_by))"
    )


def _sqlite(moves: Moves) -> list[str]:
    legal = " OR ".join(
        f"(OLD.status = '{before}' AND NEW.status IN ({_quoted(after)}))" for before, after in moves.items()
    )
    legal_old = legal.replace("OLD.", "old.")
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
        # Before, because after a REPLACE the former row is gone. Where a row is there already, none is made.
        f"""
CREATE TRIGGER domains_first_status_trigger BEFORE INSERT ON domains
    FOR EACH ROW WHEN {_is_wrong_first()} AND NOT EXISTS (SELECT 1 FROM domains WHERE domain = NEW.domain)
BEGIN
    SELECT RAISE(ABORT, 'illegal status of a new host: {_first_sentence()}');
END
""",  # noqa: S608  # names of our own
        # REPLACE deletes the row that is in its way without firing a trigger. Nothing tells a trigger that it is a
        # REPLACE but this: the statements in a trigger follow the OR clause of the one that fired it. So an
        # INSERT OR IGNORE of the same row leaves it alone in any other statement, and overwrites it in a REPLACE.
        f"""
CREATE TRIGGER domains_replace_trigger BEFORE INSERT ON domains
    FOR EACH ROW WHEN NEW.source IS NOT '{_REPLACED}' AND EXISTS (
        SELECT 1 FROM domains AS old WHERE (old.domain = NEW.domain OR old.id = NEW.id) AND NOT ({legal_old})
    )
BEGIN
    INSERT OR IGNORE INTO domains (id, domain, source)
        SELECT id, domain, '{_REPLACED}' FROM domains WHERE domain = NEW.domain OR id = NEW.id;
    SELECT RAISE(ABORT, 'illegal status change by REPLACE; update the row instead')
        FROM domains WHERE (domain = NEW.domain OR id = NEW.id) AND source = '{_REPLACED}';
END
""",  # noqa: S608
        """
CREATE TRIGGER domains_overwrite_trigger BEFORE UPDATE OF domain, id ON domains
    FOR EACH ROW WHEN EXISTS (SELECT 1 FROM domains WHERE (domain = NEW.domain OR id = NEW.id) AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'another host has this name or id');
END
""",
        f"""
CREATE TRIGGER domains_woken_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN {_WOKEN} AND NEW.next_crawl_after IS OLD.next_crawl_after AND NEW.next_crawl_after IS NOT NULL
BEGIN
    UPDATE domains SET next_crawl_after = NULL WHERE id = NEW.id;
END
""",  # noqa: S608  # no value comes from outside
        f"""
CREATE TRIGGER domains_moves_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN OLD.status IS NOT NEW.status
BEGIN
    {_move(_SQLITE_NOW)};
END
""",
        # A row that sets its time of change keeps it; any other gets the present.
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


# Triggers on `domain_policies` keep its history, so that hand-written SQL is recorded like any other edit. An edit
# takes effect at its own `updated_at`; one that leaves that column alone takes effect when it is made.

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
_CHANGED: Final = " OR ".join(f"NEW.{name} <> OLD.{name}" for name in ("host", *_LIMITS))


def create_policy_triggers(dialect: str) -> list[str]:
    """The statements that create the triggers."""
    if dialect == "postgresql":
        return [
            _POSTGRESQL,
            "CREATE TRIGGER domain_policies_history_trigger AFTER INSERT OR UPDATE OR DELETE ON domain_policies\n"
            "    FOR EACH ROW EXECUTE FUNCTION note_policy()",
        ]
    return [
        _sqlite_policies("insert", "AFTER INSERT", [_row("NEW", "NEW.updated_at")]),
        _sqlite_policies(
            "update",
            "AFTER UPDATE",
            [
                _row("OLD", _SQLITE_NOW, is_deleted=True, where="NEW.host <> OLD.host"),
                _row("NEW", f"CASE WHEN NEW.updated_at IS OLD.updated_at THEN {_SQLITE_NOW} ELSE NEW.updated_at END"),
            ],
            when=_CHANGED,
        ),
        _sqlite_policies("delete", "AFTER DELETE", [_row("OLD", _SQLITE_NOW, is_deleted=True)]),
    ]


def drop_policy_triggers(dialect: str) -> list[str]:
    """The statements that drop the triggers."""
    if dialect == "postgresql":
        return [
            "DROP TRIGGER IF EXISTS domain_policies_history_trigger ON domain_policies",
            "DROP FUNCTION IF EXISTS note_policy()",
        ]
    return [
        f"DROP TRIGGER IF EXISTS domain_policies_{event}_history_trigger" for event in ("insert", "update", "delete")
    ]


def _sqlite_policies(event: str, moment: str, rows: list[str], when: str = "") -> str:
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


def is_illegal_move(error: IntegrityError) -> bool:
    """Whether a change of a host's status was refused here, and not by any other rule of its row."""
    refused_by = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    # On SQLite a refusal has no name, but no other trigger refuses a change of the status.
    return refused_by == STATUS_TRIGGER or getattr(error.orig, "sqlite_errorname", None) == "SQLITE_CONSTRAINT_TRIGGER"
