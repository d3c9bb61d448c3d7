"""A large state for `console.py`, inserted by set-based SQL: sources, hosts, jobs, fetches, and what goes with them.

Triggers and most indexes are off while it is filled, and are made again from the schema's own text. Every number is a
function of the row's number, so that two fillings are equal. Some rows are heavy on purpose: host 1 has a tenth of all
fetches and jobs, policy 1 has 10,000 results, job 1 has 1,000 moves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import zstandard
from sqlalchemy import Connection

from comity.assemble import State
from comity.database.connection import Database
from comity.rules.canonical import web_address

_SPREAD = 2_654_435_761  # multiplies row numbers, so that ids are spread like random ones
_BATCH = 1_000_000
_PAGE = zstandard.ZstdCompressor().compress(b"<html><title>Product</title>" + b"<p>A line of text.</p>" * 800)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows of each kind."""

    sources: int = 10_000
    hosts: int = 1_000_000
    jobs: int = 1_000_000
    fetches: int = 10_000_000

    def shrunk(self, factor: int) -> Sizes:
        """A state for a quick run."""
        return Sizes(
            max(100, self.sources // factor), self.hosts // factor, self.jobs // factor, self.fetches // factor
        )


class Dialect:
    """The few words in which the two databases differ."""

    def __init__(self, native: bool, now: int) -> None:
        self.native = native
        self._now = now

    def rows(self, first: int, last: int) -> str:
        """A table `numbers` with the column n."""
        if self.native:
            return f"generate_series({first}::bigint, {last}::bigint) AS numbers(n)"
        return (
            f"(WITH RECURSIVE counted(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM counted WHERE n < {last}) "
            "SELECT n FROM counted) AS numbers"
        )

    def id(self, kind: int, n: str) -> str:
        """The id of row n of a kind."""
        spread = f"(({n}) * {_SPREAD}) & 4294967295"
        if not self.native:
            return f"printf('%08x%04x%020x', {spread}, {kind}, {n})"
        parts = (f"lpad(to_hex({spread}), 8, '0')", f"'{kind:04x}'", f"lpad(to_hex({n}), 20, '0')")
        return f"({' || '.join(parts)})::uuid"

    def ago(self, seconds: str) -> str:
        """An instant so many seconds before now."""
        if self.native:
            return f"to_timestamp({self._now} - ({seconds}))"
        return f"(strftime('%Y-%m-%d %H:%M:%S', {self._now} - ({seconds}), 'unixepoch') || '.000000')"

    def json(self, text: str) -> str:
        """A JSON document from an SQL text."""
        return f"({text})::jsonb" if self.native else f"({text})"

    def host_status(self, text: str) -> str:
        """A status of a host."""
        return f"({text})::domain_status" if self.native else f"({text})"

    def number(self, text: str) -> str:
        """A number of 64 bits that is spread as keys of URLs are."""
        return f"((({text}) * {_SPREAD}) % 9007199254740881)"


_RUN, _HOST, _SOURCE, _POLICY, _JOB, _RESULT, _LOG, _HOOK, _DELIVERY, _POSTING, _LATE, _LIST = range(1, 13)


def run_number(n: str, fetches: int) -> str:
    """The run of a fetch: a thousand runs, one after the other."""
    return f"(({n}) * 1000 / {fetches + 1} + 1)"


def host_number(n: str, hosts: int) -> str:
    """The host of a row: a tenth on host 1, a tenth on a hundred others, the rest spread evenly."""
    return f"(CASE ({n}) % 10 WHEN 0 THEN 1 WHEN 1 THEN ({n}) / 10 % 100 + 2 ELSE ({n}) * 31 % {hosts} + 1 END)"


class Filling:
    """Inserts the rows of one database."""

    def __init__(self, database: Database, sizes: Sizes) -> None:
        self._database = database
        self._sizes = sizes
        self._d = Dialect(database.is_shared, int(time.time()))

    def fill(self) -> None:
        """Insert everything; the indexes and triggers are made again at the end."""
        remade = self._undressed()
        for table, count, columns in self._tables():
            started = time.perf_counter()
            for first in range(1, count + 1, _BATCH):
                self._insert(table, columns, first, min(count, first + _BATCH - 1))
            print(f"  {table}: {count:,} rows in {time.perf_counter() - started:.0f} s", flush=True)
        self._single_rows()
        started = time.perf_counter()
        for statement in remade:
            with self._writing() as connection:
                connection.exec_driver_sql(statement)
        with self._writing() as connection:
            connection.exec_driver_sql("ANALYZE")
        print(f"  indexes in {time.perf_counter() - started:.0f} s", flush=True)

    def _writing(self) -> Any:
        return unchecked(self._database)

    def _undressed(self) -> list[str]:
        """Drop indexes (and SQLite's triggers); gives the statements that make them again."""
        with self._writing() as connection:
            run = connection.exec_driver_sql
            if self._d.native:
                found = run(
                    "SELECT 'INDEX', indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() "
                    "AND indexname NOT IN (SELECT conname FROM pg_constraint) AND tablename <> 'alembic_version'"
                ).all()
            else:
                found = run(
                    "SELECT upper(type), name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') "
                    "AND sql IS NOT NULL AND name NOT LIKE 'search_%'"
                ).all()
            for kind, name, _ in found:
                run(f'DROP {kind} "{name}"')
        return [made for _, _, made in found]

    def _insert(self, table: str, columns: dict[str, str], first: int, last: int) -> None:
        where = columns.pop("WHERE", None)
        names, values = ", ".join(f'"{name}"' for name in columns), ", ".join(columns.values())
        statement = f"INSERT INTO {table} ({names}) SELECT {values} FROM {self._d.rows(first, last)}"
        if where:
            statement += f" WHERE {where}"
            columns["WHERE"] = where
        with self._writing() as connection:
            connection.exec_driver_sql(statement.replace("%", "%%") if self._d.native else statement)

    def _tables(self) -> Iterator[tuple[str, int, dict[str, str]]]:
        yield from self._of_crawls()
        yield from self._of_sources()
        yield from self._of_queue()

    def _of_crawls(self) -> Iterator[tuple[str, int, dict[str, str]]]:
        d, sizes = self._d, self._sizes
        n, hosts, day = "n", sizes.hosts, 86_400
        host = host_number(n, hosts)
        name = f"'h' || {host} || '.example'"
        url = f"'https://h' || {host} || '.example/p/' || n"
        step = 30 * day / sizes.fetches  # the fetches of 30 days
        at_fetch = d.ago(f"({sizes.fetches} - n) * {step}")
        yield (
            "crawl_runs",
            1000,
            {
                "id": d.id(_RUN, n),
                "door": "'crawl'",
                "status": "CASE WHEN n > 995 THEN 'running' WHEN n % 9 = 0 THEN 'stopped' ELSE 'finished' END",
                "end_reason": "CASE WHEN n > 995 THEN NULL ELSE 'exhausted' END",
                "started_at": d.ago(f"(1000 - n) * {30 * day // 1000}"),
                "ended_at": f"CASE WHEN n > 995 THEN NULL ELSE {d.ago(f'(1000 - n) * {30 * day // 1000} - 2000')} END",
                "pages_crawled": str(sizes.fetches // 1000),
                "settings": d.json("'{}'"),
            },
        )
        status = (
            "CASE WHEN n % 10 < 5 THEN 'pending' WHEN n % 10 < 6 THEN 'active' WHEN n % 10 < 8 THEN 'exhausted' "
            "WHEN n % 10 = 8 THEN 'blocked' ELSE 'unreachable' END"
        )
        yield (
            "domains",
            hosts,
            {
                "id": d.id(_HOST, n),
                "domain": "'h' || n || '.example'",
                "parent_domain": "'h' || n || '.example'",
                "status": d.host_status(f"CASE WHEN n = 1 THEN 'active' ELSE {status} END"),
                "is_seeded": "n % 20 <> 0",
                "source": "'list-' || (n % 7)",
                "block_reason": "CASE WHEN n % 10 = 8 THEN 'robots.txt disallows everything' END",
                "block_reason_code": "CASE WHEN n % 10 = 8 THEN 'robots_denied' WHEN n % 10 = 9 THEN 'dns_failed' END",
                "pages_discovered": "n % 1000",
                "pages_crawled": "CASE WHEN n % 10 < 5 THEN 0 ELSE n % 700 END",
                "image_yield_rate": "(n % 100) / 100.0",
                "error_rate": "(n % 50) / 100.0",
                "priority_score": "n * 31 % 100",
                "seed_rank": n,
                "first_seen_at": d.ago(f"{hosts} - n + {40 * day}"),
                "updated_at": d.ago(f"({hosts} - n) * 2"),
                "last_crawled_at": f"CASE WHEN n % 10 < 5 THEN NULL ELSE {d.ago(f'n * 7919 % {30 * day}')} END",
                "next_crawl_after": f"CASE WHEN n % 10 > 5 THEN {d.ago(f'-(n * 7919 % {30 * day})')} END",
                "frontier_size": "CASE WHEN n = 1 THEN 200000 ELSE 0 END",
                "claimed_by": "CASE WHEN n % 10000 = 5 THEN 'worker-' || (n % 8) END",
                "claim_expires_at": f"CASE WHEN n % 10000 = 5 THEN {d.ago('-1800')} END",
            },
        )
        yield (
            "fetches",
            sizes.fetches,
            {
                "run_id": d.id(_RUN, run_number(n, sizes.fetches)),
                "domain_id": d.id(_HOST, host),
                "domain": name,
                "page_url": url,
                "url_key": d.number(n),
                "outcome": "CASE WHEN n % 20 = 0 THEN 'failed' WHEN n % 33 = 0 THEN 'gone' ELSE 'fetched' END",
                "status": "CASE WHEN n % 40 = 0 THEN NULL WHEN n % 20 = 0 THEN 503 "
                "WHEN n % 33 = 0 THEN 404 ELSE 200 END",
                "error": "CASE WHEN n % 40 = 0 THEN 'timeout' END",
                "content_type": "'text/html'",
                "bytes_received": "n % 90000",
                "duration_ms": "n % 900",
                "depth": "n % 6",
                "crawled_at": at_fetch,
            },
        )
        tenth = max(1, sizes.fetches // 10)
        at_tenth = d.ago(f"({tenth} - n) * {30 * day / tenth}")
        yield (
            "evidence",
            tenth,
            {
                "run_id": d.id(_RUN, run_number(n, tenth)),
                "domain_id": d.id(_HOST, host),
                "url": url,
                "url_key": d.number(n),
                "type": "CASE WHEN n % 9 = 0 THEN 'blocked_by_robots' ELSE 'robots_allowed' END",
                "content": d.json("""'{"allowed": true, "reason": "no rule matches"}'"""),
                "created_at": at_tenth,
            },
        )
        yield (
            "politeness_ledger",
            tenth,
            {
                "run_id": d.id(_RUN, run_number(n, tenth)),
                "domain_id": d.id(_HOST, host),
                "sequence": "CASE WHEN n % 10 = 0 THEN n / 10 ELSE n END",
                "lease_token": "1",
                "request_number": n,
                "url": url,
                "purpose": "'page'",
                "started_at": at_tenth,
                "ended_at": d.ago(f"({tenth} - n) * {30 * day / tenth} - 1"),
                "delay_s": "1",
                "delay_source": "'profile'",
                "max_concurrency": "1",
                "status": "200",
                "has_fetch": "true",
            },
        )
        yield (
            "domain_frontier",
            tenth,
            {
                "domain_id": d.id(_HOST, host),
                "run_id": d.id(_RUN, run_number(n, tenth)),
                "url": url,
                "url_key": d.number(n),
                "depth": "n % 6",
                "state": "CASE WHEN n % 3 = 0 THEN 1 ELSE 0 END",
                "discovered_at": at_tenth,
            },
        )
        tenth_of_hosts = max(1, hosts // 10)
        yield (
            "robots_cache",
            tenth_of_hosts,
            {
                "origin": "'https://h' || n || '.example'",
                "host": "'h' || n || '.example'",
                "robots_txt": "'User-agent: *' || char(10) || 'Disallow: /private' || char(10)"
                if not d.native
                else "'User-agent: *' || chr(10) || 'Disallow: /private' || chr(10)",
                "access": "'parse'",
                "http_status": "200",
                "fetched_at": d.ago(f"n % {day}"),
                "expires_at": d.ago(f"n % {day} - {day}"),
            },
        )
        yield ("domain_policies", tenth_of_hosts // 10 or 1, {"host": "'h' || n || '.example'"})
        yield (
            "takedowns",
            1000,
            {"domain_or_url": "'taken-down-' || n || '.example'", "created_at": d.ago("n * 60")},
        )

    def _of_sources(self) -> Iterator[tuple[str, int, dict[str, str]]]:
        d, count, day = self._d, self._sizes.sources, 86_400
        yield (
            "sources",
            count,
            {
                "id": d.id(_SOURCE, "n"),
                "org_name": "'Organisation ' || n",
                "careers_url": "'https://h' || n || '.example/careers'",
                "org_type": "CASE n % 4 WHEN 0 THEN 'un' WHEN 1 THEN 'ingo' WHEN 2 THEN 'ngo' ELSE 'academic' END",
                "status": "CASE WHEN n % 17 = 0 THEN 'paused' WHEN n % 31 = 0 THEN 'blocked' ELSE 'active' END",
                "next_run_at": d.ago(f"(n * 7919 % {2 * day}) - {day}"),
                "last_crawled_at": d.ago(f"n * 7919 % {3 * day}"),
                "last_crawl_status": "CASE n % 10 WHEN 0 THEN 'fail' WHEN 1 THEN 'warn' ELSE 'ok' END",
                "last_crawl_message": "CASE n % 10 WHEN 0 THEN 'timeout' END",
                "consecutive_failures": "CASE n % 10 WHEN 0 THEN 2 ELSE 0 END",
                "created_at": d.ago(f"n * 60 + {60 * day}"),
            },
        )
        logs = count * 30
        yield (
            "crawl_logs",
            logs,
            {
                "id": d.id(_LOG, "n"),
                "source_id": d.id(_SOURCE, f"n * 31 % {count} + 1"),
                "ran_at": d.ago(f"({logs} - n) * {90 * day / logs}"),
                "duration_ms": "n % 9000",
                "found": "n % 40",
                "inserted": "n % 5",
                "updated": "n % 3",
                "skipped": "n % 2",
                "status": "CASE n % 10 WHEN 0 THEN 'fail' WHEN 1 THEN 'warn' ELSE 'ok' END",
                "message": "CASE n % 10 WHEN 0 THEN 'timeout' END",
                "closed": "n % 2",
                "pages": "1",
            },
        )
        yield (
            "job_postings",
            count * 5,
            {
                "id": d.id(_POSTING, "n"),
                "canonical_hash": "'hash-' || n",
                "source_id": d.id(_SOURCE, f"n * 31 % {count} + 1"),
                "title": "CASE n % 3 WHEN 0 THEN 'Programme Officer ' WHEN 1 THEN 'Nurse ' ELSE 'Engineer ' END || n",
                "org_name": f"'Organisation ' || (n * 31 % {count} + 1)",
                "apply_url": f"'https://h' || (n * 31 % {count} + 1) || '.example/jobs/' || n",
                "location_raw": "CASE n % 3 WHEN 0 THEN 'Nairobi' WHEN 1 THEN 'Geneva' ELSE 'Remote' END",
                "country_iso": "CASE n % 3 WHEN 0 THEN 'KE' WHEN 1 THEN 'CH' END",
                "level_norm": "CASE n % 2 WHEN 0 THEN 'mid' ELSE 'senior' END",
                "description_snippet": "'Plans and reports on the work of the team.'",
                "deadline": d.ago(f"-(n % {30 * day})"),
                "first_seen_at": d.ago(f"n % {60 * day}"),
            },
        )
        yield (
            "search_outbox",
            count * 5,
            {"posting_id": d.id(_POSTING, "n"), "action": "'upsert'", "created_at": d.ago("n")},
        )

    def _of_queue(self) -> Iterator[tuple[str, int, dict[str, str]]]:
        d, sizes, day = self._d, self._sizes, 86_400
        jobs, policies, hosts = sizes.jobs, max(1, sizes.jobs // 5), sizes.hosts
        host = host_number("n", hosts)
        is_open = "(n % 100 >= 80)"
        status = (
            "CASE WHEN n % 100 < 65 THEN 'done' WHEN n % 100 < 80 THEN 'failed' WHEN n % 100 < 99 THEN 'pending' "
            "WHEN n % 1000 = 99 THEN 'locked' ELSE 'expired' END"
        )
        is_locked = "(n % 1000 = 99)"
        of_policy = (
            f"CASE WHEN {is_open} AND n % 5 = 0 THEN n / 5 WHEN {is_open} THEN NULL "
            f"WHEN n % 100 = 1 THEN 1 ELSE n * 7919 % {policies} + 1 END"
        )
        step = 30 * day / jobs
        made = f"({jobs} - n) * {step} + 60"
        policy_host = f"(CASE WHEN n % 10 = 0 THEN 1 ELSE n * 31 % {hosts} + 1 END)"
        yield (
            "crawl_policies",
            policies,
            {
                "id": d.id(_POLICY, "n"),
                "url": f"'https://h' || {policy_host} || '.example/product/' || n",
                "domain_id": d.id(_HOST, policy_host),
                "frequency_hours": "CASE n % 3 WHEN 0 THEN 24 WHEN 1 THEN 6 ELSE 168 END",
                "priority": "n * 7 % 11",
                "enabled": "n % 13 <> 0",
                "next_run_at": f"CASE WHEN n % 50 = 0 THEN NULL ELSE {d.ago(f'(n * 7919 % {2 * day}) - {day}')} END",
                "failure_count": "CASE WHEN n % 23 = 0 THEN n % 7 ELSE 0 END",
                "last_success_at": d.ago(f"n * 7919 % {3 * day}"),
                "last_failed_at": f"CASE WHEN n % 23 = 0 THEN {d.ago('n % 86400')} END",
                "last_price": "'19.99'" if not d.native else "19.99",
                "last_currency": "'EUR'",
                "last_in_stock": "n % 4 <> 0",
                "created_at": d.ago(f"({policies} - n) * 10 + {60 * day}"),
                "updated_at": d.ago(f"{policies} - n"),
            },
        )
        yield (
            "crawl_jobs",
            jobs,
            {
                "id": d.id(_JOB, "n"),
                "policy_id": f"CASE WHEN ({of_policy}) IS NULL THEN NULL ELSE {d.id(_POLICY, f'({of_policy})')} END",
                "domain_id": d.id(_HOST, host),
                "url": f"'https://h' || {host} || '.example/product/' || n",
                "status": status,
                "priority": "n * 7 % 11",
                "locked_by": f"CASE WHEN {is_locked} THEN 'bot-' || (n / 1000 % 200 + 1) END",
                "locked_at": f"CASE WHEN {is_locked} THEN {d.ago('n % 300')} END",
                "lock_ends_at": f"CASE WHEN {is_locked} THEN {d.ago('n % 300 - 600')} END",
                "retry_count": "n % 4",
                "error_msg": "CASE WHEN n % 100 BETWEEN 65 AND 79 THEN 'Timeout: the page did not load' END",
                "not_before": f"CASE WHEN n % 200 = 95 THEN {d.ago('-(n % 3600)')} END",
                "finished_at": f"CASE WHEN {is_open} THEN NULL ELSE {d.ago(f'{made} - 50')} END",
                "submitted_by": f"CASE WHEN {is_open} THEN NULL ELSE 'bot-' || (n % 200 + 1) END",
                "created_at": d.ago(made),
                "updated_at": d.ago(f"{made} - 50"),
            },
        )
        for number, (before, after) in enumerate((("pending", "locked"), ("locked", None))):
            yield (
                "crawl_job_moves",
                jobs,
                {
                    "job_id": d.id(_JOB, "n"),
                    "before": f"'{before}'",
                    "after": f"'{after}'" if after else f"({status})",
                    "actor": "'bot-' || (n % 200 + 1)",
                    "moved_at": d.ago(f"{made} - {20 + number * 20}"),
                    "WHERE": f"NOT {is_open}",
                },
            )
        yield (
            "crawl_job_moves",
            1000,
            {
                "job_id": d.id(_JOB, "1"),
                "before": "'locked'",
                "after": "'pending'",
                "actor": "'bot-1'",
                "reason": "'Timeout: the page did not load'",
                "moved_at": d.ago("n"),
            },
        )
        yield (
            "crawl_results",
            jobs,
            {
                "id": d.id(_RESULT, "n"),
                "job_id": d.id(_JOB, "n"),
                "policy_id": d.id(_POLICY, f"(CASE WHEN n % 100 = 1 THEN 1 ELSE n * 7919 % {policies} + 1 END)"),
                "url": f"'https://h' || {host} || '.example/product/' || n",
                "price": "(n % 9000) / 100.0" if d.native else "printf('%.4f', (n % 9000) / 100.0)",
                "currency": "CASE n % 3 WHEN 0 THEN 'EUR' WHEN 1 THEN 'USD' ELSE 'GBP' END",
                "title": "'Product ' || n",
                "in_stock": "n % 4 <> 0",
                "parsed_data": d.json("""'{"sku": "' || n || '", "brand": "Example"}'"""),
                "bot_id": "'bot-' || (n % 200 + 1)",
                "crawled_at": d.ago(f"{made} - 50"),
                "created_at": d.ago(f"{made} - 50"),
                "WHERE": "n % 100 < 65",
            },
        )
        yield (
            "late_submissions",
            max(1, jobs // 100),
            {
                "id": d.id(_LATE, "n"),
                "job_id": d.id(_JOB, "n"),
                "bot_id": "'bot-' || (n % 200 + 1)",
                "submission_digest": "'digest-' || n",
                "content": d.json("""'{"success": true, "price": "19.99", "currency": "EUR", "title": "Product"}'"""),
                "received_at": d.ago("n * 60"),
            },
        )
        yield (
            "bots",
            200,
            {
                "bot_id": "'bot-' || n",
                "key_hash": "'key-' || n",
                "status": "CASE WHEN n % 40 = 0 THEN 'revoked' WHEN n % 15 = 0 THEN 'quarantined' ELSE 'active' END",
                "jobs_pulled": "n * 1000",
                "jobs_done": "n * 900",
                "jobs_failed": "n * 90",
                "last_seen_at": d.ago("n * 7"),
            },
        )
        yield (
            "webhooks",
            50,
            {
                "id": d.id(_HOOK, "n"),
                "url": "'https://hooks.example/' || n",
                "events": d.json("""'["job.done", "job.failed"]'"""),
                "secret": "'whsec_of_a_measurement'",
                "enabled": "n % 10 <> 0",
            },
        )
        yield (
            "webhook_deliveries",
            max(50, jobs // 5),
            {
                "id": d.id(_DELIVERY, "n"),
                "webhook_id": d.id(_HOOK, "n % 50 + 1"),
                "event": "CASE n % 4 WHEN 0 THEN 'job.failed' ELSE 'job.done' END",
                "payload": d.json("""'{"job_id": "' || n || '"}'"""),
                "status": "CASE n % 20 WHEN 0 THEN 'failed' WHEN 1 THEN 'pending' ELSE 'delivered' END",
                "attempts": "n % 5",
                "created_at": d.ago("n * 10"),
                "last_status": "CASE n % 20 WHEN 0 THEN 500 ELSE 204 END",
                "next_attempt_at": f"CASE n % 20 WHEN 1 THEN {d.ago('-86400')} END",
            },
        )

    def _single_rows(self) -> None:
        """Rows that a page asks for by what it computes itself: the key of a URL, a compressed page."""
        address = web_address(asked_url(self._sizes))
        with self._writing() as connection:
            places = "%s" if self._d.native else "?"
            number = self._sizes.fetches - self._sizes.fetches % 10
            connection.exec_driver_sql(
                f"UPDATE fetches SET url_key = {places} WHERE id = {places}",
                (address.key, number),
            )
            result = f"UPDATE crawl_results SET raw_html = {places}, raw_html_bytes = {places} WHERE job_id = "
            size = len(zstandard.ZstdDecompressor().decompress(_PAGE))
            connection.exec_driver_sql(result + f"({self._d.id(_JOB, '1')})", (_PAGE, size))


def asked_url(sizes: Sizes) -> str:
    """The URL that is explained: the last fetch of host 1."""
    return f"https://h1.example/p/{sizes.fetches - sizes.fetches % 10}"


class unchecked:  # noqa: N801  # a context manager
    """A transaction without triggers and foreign keys, and without waiting for the disk."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Connection:
        self._connection = self._database.engine.connect()
        if self._database.is_shared:
            run = self._connection.exec_driver_sql
            run("SET session_replication_role = replica")
            run("SET statement_timeout = 0")
            run("SET maintenance_work_mem = '1GB'")
            self._connection.commit()
        else:
            raw: Any = self._connection.connection.driver_connection
            for pragma in ("synchronous = OFF", "foreign_keys = OFF", "cache_size = -2000000", "temp_store = FILE"):
                raw.execute(f"PRAGMA {pragma}")
        return self._connection

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()
        self._database.engine.dispose()


def is_filled(state: State) -> bool:
    """Whether a state has been filled before."""
    with state.database.read() as connection:
        return connection.exec_driver_sql("SELECT 1 FROM fetches LIMIT 1").first() is not None


def ids() -> dict[str, str]:
    """The ids and names that paths are made with: the heavy rows."""

    def of(kind: int, n: int) -> str:
        text = f"{(n * _SPREAD) & 0xFFFFFFFF:08x}{kind:04x}{n:020x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    return {
        "host": "h1.example",
        "source_id": of(_SOURCE, 1),
        "run_id": of(_RUN, 1000),
        "policy_id": of(_POLICY, 1),
        "job_id": of(_JOB, 1),
        "result_id": of(_RESULT, 1),
        "late_id": of(_LATE, 1),
        "webhook_id": of(_HOOK, 1),
        "delivery_id": of(_DELIVERY, 1),
        "posting_id": of(_POSTING, 1),
        "bot_id": "bot-1",
    }
