"""Triggers on `crawl_jobs`: legal moves, one bot for each lock, and the history of every move.

They are generated from `rules.job_transitions`, so that hand-written SQL is held to the same rules as the code, and
leaves the same history. The code writes who moved a job and why into `moved_by` and `move_reason`; the trigger copies
them into the history if the statement changed one of them or `updated_at`, and notes `sql` otherwise.
"""

from __future__ import annotations

from typing import Final

from comity.rules.job_transitions import FIRST, MOVES

JOB_TRIGGER: Final = "crawl_jobs_status_trigger"  # named in the error of a move that it refuses (PostgreSQL)
_REPLACED: Final = "(replaced)"
_STOLEN: Final = "a locked job belongs to one bot until its lock ends"
_OPEN: Final = "('pending', 'locked', 'expired')"

_ILLEGAL: Final = " AND ".join(
    f"NOT (OLD.status = '{before}' AND NEW.status IN ({', '.join(repr(str(each)) for each in after)}))"
    for before, after in MOVES.items()
    if after
)


def _sentence(before: str) -> str:
    after = [str(each) for each in MOVES[before]]  # type: ignore[index]  # its keys are strings too
    if not after:
        return f"a {before} job keeps its status"
    return f"{before} may only become {' or '.join(filter(None, [', '.join(after[:-1]), after[-1]]))}"


def _is_attributed(differs: str) -> str:
    """Whether a statement said who it was."""
    names = ("moved_by", "move_reason", "updated_at")
    return "(" + " OR ".join(f"NEW.{name} {differs} OLD.{name}" for name in names) + ")"


def _of_lock_alone(differs: str, equals: str) -> str:
    """Whether a statement changed a lock by its start or its length, without its end, which then follows from them.

    The code writes the end itself. SQLite also gets the time of the lock in the one format that the code compares.
    """
    return (
        f"NEW.status = 'locked' AND NEW.lock_ends_at {equals} OLD.lock_ends_at AND "
        f"(NEW.locked_at {differs} OLD.locked_at OR NEW.lock_ttl_seconds {differs} OLD.lock_ttl_seconds)"
    )


def create_job_triggers(dialect: str) -> list[str]:
    """The statements that put the triggers in place."""
    return _postgresql() + _postgresql_lock_end() if dialect == "postgresql" else _sqlite() + _sqlite_of_written_sql()


def drop_job_triggers(dialect: str) -> list[str]:
    """The statements that take the triggers away."""
    if dialect == "postgresql":
        return [
            f"DROP TRIGGER IF EXISTS {JOB_TRIGGER} ON crawl_jobs",
            "DROP TRIGGER IF EXISTS crawl_jobs_lock_trigger ON crawl_jobs",
            "DROP TRIGGER IF EXISTS crawl_jobs_lock_end_trigger ON crawl_jobs",
            "DROP TRIGGER IF EXISTS crawl_jobs_first_status_trigger ON crawl_jobs",
            "DROP FUNCTION IF EXISTS check_job_move()",
            "DROP FUNCTION IF EXISTS refuse_stolen_lock()",
            "DROP FUNCTION IF EXISTS refuse_first_job_status()",
            "DROP FUNCTION IF EXISTS set_lock_end()",
        ]
    names = ("status", "lock", "lock_end", "first_status", "replace", "overwrite", "history", "unlock", "id")
    dropped = [f"DROP TRIGGER IF EXISTS crawl_jobs_{name}_trigger" for name in names]
    of_policies = ("id", "config", "new_config")
    return dropped + [f"DROP TRIGGER IF EXISTS crawl_policies_{name}_trigger" for name in of_policies]


def _postgresql() -> list[str]:
    hints = " ".join(f"WHEN '{before}' THEN '{_sentence(before)}'" for before in MOVES)
    attributed = _is_attributed("IS DISTINCT FROM")
    return [
        f"""
CREATE OR REPLACE FUNCTION check_job_move() RETURNS TRIGGER AS $$
BEGIN
    IF {_ILLEGAL} THEN
        RAISE EXCEPTION 'illegal status change of job %: % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = '{JOB_TRIGGER}', HINT = CASE OLD.status {hints} END;
    END IF;
    IF NEW.status = OLD.status THEN
        RETURN NEW;
    END IF;
    INSERT INTO crawl_job_moves (job_id, before, after, actor, reason, moved_at) VALUES (
        OLD.id, OLD.status, NEW.status,
        CASE WHEN {attributed} THEN NEW.moved_by ELSE 'sql' END,
        CASE WHEN {attributed} THEN NEW.move_reason END,
        CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE CURRENT_TIMESTAMP END
    );
    IF NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at THEN
        NEW.updated_at = CURRENT_TIMESTAMP;
    END IF;
    IF NEW.status <> 'locked' THEN
        NEW.locked_by = NULL;
        NEW.locked_at = NULL;
        NEW.lock_ends_at = NULL;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql
""",  # noqa: S608  # our own words
        f"""
CREATE TRIGGER {JOB_TRIGGER} BEFORE UPDATE OF status ON crawl_jobs
    FOR EACH ROW EXECUTE FUNCTION check_job_move()
""",
        f"""
CREATE OR REPLACE FUNCTION refuse_stolen_lock() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status change of job %: {_STOLEN}', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = '{JOB_TRIGGER}';
END;
$$ LANGUAGE plpgsql
""",
        """
CREATE TRIGGER crawl_jobs_lock_trigger BEFORE UPDATE OF locked_by ON crawl_jobs
    FOR EACH ROW WHEN (
        OLD.status = 'locked' AND NEW.status = 'locked' AND NEW.locked_by IS DISTINCT FROM OLD.locked_by
    ) EXECUTE FUNCTION refuse_stolen_lock()
""",
        f"""
CREATE OR REPLACE FUNCTION refuse_first_job_status() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status of the new job %: %', NEW.id, NEW.status
        USING ERRCODE = 'check_violation', HINT = 'a new job is {FIRST}';
END;
$$ LANGUAGE plpgsql
""",
        f"""
CREATE TRIGGER crawl_jobs_first_status_trigger AFTER INSERT ON crawl_jobs
    FOR EACH ROW WHEN (NEW.status <> '{FIRST}') EXECUTE FUNCTION refuse_first_job_status()
""",
    ]


def _sqlite() -> list[str]:
    refusals = " ".join(
        f"WHEN '{before}' THEN RAISE(ABORT, 'illegal status change: {_sentence(before)}')" for before in MOVES
    )
    attributed = _is_attributed("IS NOT")
    now = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"
    # What a row that is inserted or changed would push aside: SQLite's REPLACE deletes it without firing a trigger.
    same = f"(id = NEW.id OR (policy_id = NEW.policy_id AND status IN {_OPEN} AND NEW.status IN {_OPEN}))"
    return [
        f"""
CREATE TRIGGER crawl_jobs_status_trigger BEFORE UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN {_ILLEGAL}
BEGIN
    SELECT CASE OLD.status {refusals} ELSE RAISE(ABORT, 'illegal status change') END;
END
""",
        f"""
CREATE TRIGGER crawl_jobs_lock_trigger BEFORE UPDATE OF locked_by ON crawl_jobs
    FOR EACH ROW WHEN OLD.status = 'locked' AND NEW.status = 'locked' AND NEW.locked_by IS NOT OLD.locked_by
BEGIN
    SELECT RAISE(ABORT, 'illegal status change: {_STOLEN}');
END
""",
        f"""
CREATE TRIGGER crawl_jobs_first_status_trigger BEFORE INSERT ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> '{FIRST}' AND NOT EXISTS (SELECT 1 FROM crawl_jobs WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'illegal status of a new job: a new job is {FIRST}');
END
""",  # noqa: S608
        # As for hosts: the statements in a trigger follow the OR clause of the one that fired it, so that the inner
        # INSERT overwrites the row in a REPLACE, and leaves it alone in any other statement.
        f"""
CREATE TRIGGER crawl_jobs_replace_trigger BEFORE INSERT ON crawl_jobs
    FOR EACH ROW WHEN NEW.move_reason IS NOT '{_REPLACED}' AND EXISTS (SELECT 1 FROM crawl_jobs WHERE {same})
BEGIN
    INSERT OR IGNORE INTO crawl_jobs (id, policy_id, domain_id, url, move_reason)
        SELECT id, policy_id, domain_id, url, '{_REPLACED}' FROM crawl_jobs WHERE {same};
    SELECT RAISE(ABORT, 'illegal status change by REPLACE; update the row instead')
        FROM crawl_jobs WHERE {same} AND move_reason = '{_REPLACED}';
END
""",  # noqa: S608
        f"""
CREATE TRIGGER crawl_jobs_overwrite_trigger BEFORE UPDATE OF id, policy_id, status ON crawl_jobs
    FOR EACH ROW WHEN EXISTS (SELECT 1 FROM crawl_jobs WHERE {same} AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'another job has this id, or is the open job of this policy');
END
""",  # noqa: S608
        f"""
CREATE TRIGGER crawl_jobs_history_trigger AFTER UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> OLD.status
BEGIN
    INSERT INTO crawl_job_moves (job_id, "before", "after", actor, reason, moved_at) SELECT
        NEW.id, OLD.status, NEW.status,
        CASE WHEN {attributed} THEN NEW.moved_by ELSE 'sql' END,
        CASE WHEN {attributed} THEN NEW.move_reason END,
        CASE WHEN NEW.updated_at IS NOT OLD.updated_at THEN NEW.updated_at ELSE {now} END;
    UPDATE crawl_jobs SET updated_at = {now} WHERE id = NEW.id AND NEW.updated_at IS OLD.updated_at;
END
""",  # noqa: S608
        """
CREATE TRIGGER crawl_jobs_unlock_trigger AFTER UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> 'locked' AND NEW.locked_by IS NOT NULL
BEGIN
    UPDATE crawl_jobs SET locked_by = NULL, locked_at = NULL, lock_ends_at = NULL WHERE id = NEW.id;
END
""",
    ]


def _postgresql_lock_end() -> list[str]:
    return [
        """
CREATE OR REPLACE FUNCTION set_lock_end() RETURNS TRIGGER AS $$
BEGIN
    NEW.lock_ends_at = NEW.locked_at + make_interval(secs => NEW.lock_ttl_seconds);
    RETURN NEW;
END;
$$ LANGUAGE plpgsql
""",
        f"""
CREATE TRIGGER crawl_jobs_lock_end_trigger BEFORE UPDATE OF locked_at, lock_ttl_seconds ON crawl_jobs
    FOR EACH ROW WHEN ({_of_lock_alone("IS DISTINCT FROM", "IS NOT DISTINCT FROM")}) EXECUTE FUNCTION set_lock_end()
""",
    ]


def _sqlite_of_written_sql() -> list[str]:
    """What PostgreSQL's types check themselves, and the end of a lock."""
    return [
        f"""
CREATE TRIGGER crawl_jobs_lock_end_trigger AFTER UPDATE OF locked_at, lock_ttl_seconds ON crawl_jobs
    FOR EACH ROW WHEN {_of_lock_alone("IS NOT", "IS")}
BEGIN
    UPDATE crawl_jobs SET
        locked_at = CASE WHEN NEW.locked_at IS OLD.locked_at THEN locked_at
            ELSE strftime('%Y-%m-%d %H:%M:%f', NEW.locked_at) || '000' END,
        lock_ends_at = strftime('%Y-%m-%d %H:%M:%f', NEW.locked_at, '+' || NEW.lock_ttl_seconds || ' seconds') || '000'
        WHERE id = NEW.id AND strftime('%s', NEW.locked_at) IS NOT NULL;
END
""",  # noqa: S608
        *(_sqlite_id(table) for table in ("crawl_policies", "crawl_jobs")),
        _sqlite_config("config", "BEFORE INSERT"),
        _sqlite_config("new_config", "BEFORE UPDATE OF crawl_config"),
    ]


def _sqlite_config(name: str, moment: str) -> str:
    """A column of PostgreSQL checks this by itself. Without it, one policy could stop the scheduler of all."""
    return f"""
CREATE TRIGGER crawl_policies_{name}_trigger {moment} ON crawl_policies
    FOR EACH ROW WHEN NEW.crawl_config IS NOT NULL AND NOT json_valid(NEW.crawl_config)
BEGIN
    SELECT RAISE(ABORT, 'crawl_config is not valid JSON');
END
"""


def _sqlite_id(table: str) -> str:
    """An id of hand-written SQL may have hyphens or capitals; here ids are 32 hexadecimal digits."""
    plain = "lower(replace(NEW.id, '-', ''))"
    return f"""
CREATE TRIGGER {table}_id_trigger AFTER INSERT ON {table}
    FOR EACH ROW WHEN NEW.id <> {plain}
BEGIN
    UPDATE {table} SET id = {plain} WHERE id = NEW.id;
END
"""  # noqa: S608
