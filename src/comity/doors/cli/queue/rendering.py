"""Policies, jobs, results and figures, as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from comity.doors.cli.output import (
    Cell,
    TextColumn,
    TextRow,
    column_names,
    note,
    render_time,
    write_csv,
    write_line,
    write_pairs,
    write_table,
)
from comity.model.errors import BadInput
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation
    from comity.doors.schemas.base import Schema
    from comity.operate.queue import ActionReport
    from comity.reports.queue import (
        CrawlJob,
        CrawlPolicy,
        JobMove,
        LateSubmission,
        PricePoint,
        QueueStats,
        SubmittedResult,
    )

STYLES: Final = {
    "pending": "cyan",
    "locked": "yellow",
    "done": "green",
    "failed": "red",
    "expired": "magenta",
    "active": "green",
    "quarantined": "yellow",
    "revoked": "dim",
}
_LONGEST_IN_A_LIST: Final = 200
MOST_LISTED = 10_000


def write_exact(value: Any) -> None:
    """Write one JSON document, with decimals as numbers that keep their digits."""
    from comity.doors.schemas.base import exact_json

    print(exact_json(value, indent=2))


def export_rows(invocation: Invocation, file: str, schema: type[Schema], rows: Iterable[object]) -> None:
    """Write rows to a file by the ending of its name, or to stdout as CSV; a half-written file is removed."""
    from comity.doors.schemas.base import exact_json

    views = (schema.model_validate(row) for row in rows)
    if file == "-":
        for line in _csv(schema, views):
            print(line, end="")
        return
    path = Path(file).expanduser()
    ending = path.suffix.lower()
    if ending not in (".csv", ".json", ".jsonl"):
        raise BadInput(f"{file}: the name of the file must end in .csv, .json or .jsonl; - is stdout")
    number = 0

    def counting() -> Iterator[Schema]:
        nonlocal number
        for view in views:
            number += 1
            yield view

    lines: Iterable[str]
    if ending == ".csv":
        lines = _csv(schema, counting())
    elif ending == ".json":
        lines = _array(counting())
    else:
        lines = (exact_json(view) + "\n" for view in counting())
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.writelines(lines)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise BadInput(f"{file} cannot be written: {error.strerror}") from None
    if invocation.as_json:
        write_exact({"file": file, "rows": number})
    else:
        write_line(f"{counted(number, 'row')} written to ", Cell(file, "bold"), ".")


def _csv(schema: type[Schema], views: Iterable[Schema]) -> Iterator[str]:
    from comity.doors.schemas.base import csv_cell
    from comity.rules.csv_rows import csv_line

    columns = tuple(schema.model_fields)
    yield csv_line(columns)
    for view in views:
        yield csv_line([csv_cell(getattr(view, name)) for name in columns])


def _array(views: Iterable[Schema]) -> Iterator[str]:
    from comity.doors.schemas.base import exact_json

    before = "[\n"
    for view in views:
        yield before + exact_json(view)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def write_policies(policies: Sequence[CrawlPolicy]) -> None:
    """The table of policies."""
    columns = (
        TextColumn("POLICY"),
        TextColumn("ENABLED"),
        TextColumn("PRIORITY", is_number=True),
        TextColumn("HOURS", is_number=True),
        TextColumn("NEXT RUN"),
        TextColumn("FAILURES", is_number=True),
        TextColumn("PRICE", is_number=True),
    )
    rows = [
        TextRow(
            (
                policy.url,
                Cell("yes", "green") if policy.enabled else Cell("no", "dim"),
                f"{policy.priority:,}",
                f"{policy.frequency_hours:,}",
                render_time(policy.next_run_at, "now") if policy.enabled else "-",
                Cell(f"{policy.failure_count:,}", "red" if policy.failure_count else ""),
                price(policy.last_price, policy.last_currency),
            )
        )
        for policy in policies
    ]
    write_table(columns, rows)


def write_policy(policy: CrawlPolicy) -> None:
    """One policy."""
    pairs: list[tuple[str, str | Cell]] = [
        ("id", str(policy.id)),
        ("host", policy.domain or "-"),
        ("enabled", "yes" if policy.enabled else "no"),
        ("priority", f"{policy.priority:,}"),
        ("schedule", f"{policy.schedule}, {counted(policy.frequency_hours, 'hour')}"),
        ("next run", render_time(policy.next_run_at, "now")),
        ("retries", f"{policy.max_retries:,}, first after {counted(policy.retry_backoff_minutes, 'minute')}"),
        ("time limit", counted(policy.timeout_minutes, "minute")),
        ("failures", f"{policy.failure_count:,} in a row"),
        ("last success", render_time(policy.last_success_at)),
        ("last failure", render_time(policy.last_failed_at)),
        ("price", price(policy.last_price, policy.last_currency)),
        ("in stock", stock(policy.last_in_stock)),
    ]
    if policy.crawl_config is not None:
        from comity.doors.schemas.base import exact_json

        pairs.append(("crawl config", exact_json(policy.crawl_config)))
    write_pairs(pairs)


def write_jobs(jobs: Sequence[CrawlJob]) -> None:
    """The table of jobs."""
    columns = (
        TextColumn("JOB"),
        TextColumn("STATUS"),
        TextColumn("PRIORITY", is_number=True),
        TextColumn("TRY", is_number=True),
        TextColumn("BOT"),
        TextColumn("LOCKED UNTIL"),
        TextColumn("CREATED"),
    )
    rows = [
        TextRow(
            (
                str(job.id),
                coloured(str(job.status)),
                f"{job.priority:,}",
                f"{job.retry_count + 1} of {job.max_retries + 1}",
                job.locked_by or job.submitted_by or "-",
                render_time(job.locked_until),
                render_time(job.created_at),
            ),
            below=" · ".join(filter(None, (job.url, _not_before(job), _cut(job.error_msg)))),
        )
        for job in jobs
    ]
    write_table(columns, rows)


def _cut(text: str | None) -> str | None:
    """The beginning of a text that may be a whole page; `show` has all of it."""
    return text if text is None or len(text) <= _LONGEST_IN_A_LIST else f"{text[:_LONGEST_IN_A_LIST]}…"


def _not_before(job: CrawlJob) -> str | None:
    return None if job.not_before is None else f"not before {render_time(job.not_before)}"


def write_job(job: CrawlJob, moves: Sequence[JobMove], result: SubmittedResult | None) -> None:
    """One job with its history."""
    write_line(Cell(job.url, "bold"))
    pairs: list[tuple[str, str | Cell]] = [
        ("id", str(job.id)),
        ("policy", str(job.policy_id or "-")),
        ("host", job.domain),
        ("status", coloured(str(job.status))),
        ("priority", f"{job.priority:,}"),
        ("try", f"{job.retry_count + 1} of {job.max_retries + 1}"),
        ("created", render_time(job.created_at)),
    ]
    if job.locked_by is not None:
        pairs += [("locked by", job.locked_by), ("locked until", render_time(job.locked_until))]
    if job.not_before is not None:
        pairs.append(("not before", render_time(job.not_before)))
    if job.error_msg:
        pairs.append(("error", job.error_msg))
    if result is not None:
        pairs.append(("result", str(result.id)))
    write_pairs(pairs)
    if moves:
        columns = (TextColumn("MOVED"), TextColumn("FROM"), TextColumn("TO"), TextColumn("BY"))
        rows = [
            TextRow(
                (
                    render_time(move.moved_at),
                    str(move.before or "-"),
                    coloured(str(move.after)),
                    move.actor or "-",
                ),
                below=move.reason,
            )
            for move in moves
        ]
        write_line("")
        write_table(columns, rows)


def write_results(results: Sequence[SubmittedResult]) -> None:
    """The table of results."""
    columns = (
        TextColumn("RESULT"),
        TextColumn("PRICE", is_number=True),
        TextColumn("IN STOCK"),
        TextColumn("BOT"),
        TextColumn("CRAWLED"),
        TextColumn("HTML", is_number=True),
    )
    rows = [
        TextRow(
            (
                str(result.id),
                price(result.price, result.currency),
                stock(result.in_stock),
                result.bot_id or "-",
                render_time(result.crawled_at),
                "-" if result.raw_html_bytes is None else f"{result.raw_html_bytes:,}",
            ),
            below=" · ".join(filter(None, (result.url, _cut(result.title)))),
        )
        for result in results
    ]
    write_table(columns, rows)


def write_late(found: Sequence[LateSubmission]) -> None:
    """The table of late submissions."""
    columns = (TextColumn("LATE SUBMISSION"), TextColumn("BOT"), TextColumn("RECEIVED"), TextColumn("JOB IS"))
    rows = [
        TextRow(
            (str(each.id), each.bot_id, render_time(each.received_at), coloured(str(each.job_status))), below=each.url
        )
        for each in found
    ]
    write_table(columns, rows)


def write_prices(points: Sequence[PricePoint]) -> None:
    """The price history of a policy."""
    columns = (TextColumn("CRAWLED"), TextColumn("PRICE", is_number=True), TextColumn("IN STOCK"), TextColumn("JOB"))
    rows = [
        TextRow(
            (
                render_time(each.crawled_at),
                price(each.price, each.currency),
                stock(each.in_stock),
                str(each.job_id),
            )
        )
        for each in points
    ]
    write_table(columns, rows)


def write_bulk(report: ActionReport, one: str, many: str) -> None:
    """What a bulk action changed, and why the rest was not."""
    for item in report.items:
        if not item.changed:
            write_line(Cell("unchanged", "yellow"), f"  {item.id}  {item.reason}")
    write_line(Cell(f"{counted(report.changed, one, many)} changed, {report.unchanged:,} unchanged.", "bold"))


def write_stats(stats: QueueStats) -> None:
    """A summary of the crawl service."""
    write_line(Cell("Jobs", "bold"))
    write_pairs([(status, coloured(f"{number:,}", status)) for status, number in stats.jobs.items()])
    oldest = "-" if stats.oldest_pending_seconds is None else duration(stats.oldest_pending_seconds)
    write_pairs([("oldest waiting", oldest)])
    write_line(Cell("Policies", "bold"))
    write_pairs([(name, f"{number:,}") for name, number in stats.policies.items()])
    write_line(Cell("Finished", "bold"))
    write_pairs(
        [
            (f"in {counted(each.hours, 'hour')}", f"{each.done:,} done, {each.failed:,} failed")
            for each in stats.throughput
        ]
    )
    if stats.hosts:
        write_line("")
        _write_hosts(stats)
    if stats.bots:
        write_line("")
        _write_bots(stats)


def _write_hosts(stats: QueueStats) -> None:
    columns = (
        TextColumn("HOST"),
        TextColumn("PENDING", is_number=True),
        TextColumn("LOCKED", is_number=True),
        TextColumn("EXPIRED", is_number=True),
        TextColumn("OLDEST"),
        TextColumn("HELD BY"),
    )
    rows = [
        TextRow(
            (
                host.domain,
                f"{host.pending:,}",
                f"{host.locked:,}",
                f"{host.expired:,}",
                render_time(host.oldest),
                host.claimed_by or "-",
            )
        )
        for host in stats.hosts
    ]
    write_table(columns, rows)


def _write_bots(stats: QueueStats) -> None:
    columns = (
        TextColumn("BOT"),
        TextColumn("STATUS"),
        TextColumn("IN HAND", is_number=True),
        TextColumn("DONE", is_number=True),
        TextColumn("FAILED", is_number=True),
        TextColumn("LAST SEEN"),
    )
    rows = [
        TextRow(
            (
                bot.bot_id,
                coloured(bot.status),
                f"{bot.in_hand:,}",
                f"{bot.jobs_done:,}",
                f"{bot.jobs_failed:,}",
                render_time(bot.last_seen_at, "never"),
            )
        )
        for bot in stats.bots
    ]
    write_table(columns, rows)


def coloured(word: str, style_of: str | None = None) -> Cell:
    """A word in the colour of its status."""
    return Cell(word, STYLES.get(style_of or word, ""))


def price(amount: Any, currency: str | None) -> str:
    """A price for people."""
    return "-" if amount is None else f"{amount:,f} {currency or ''}".strip()


def stock(in_stock: bool | None) -> str:
    """Whether a product is in stock, for people."""
    return "-" if in_stock is None else "yes" if in_stock else "no"


def duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    whole = int(seconds)
    units = ((whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    shown = [f"{number} {unit}" for number, unit in units if number][:2]
    return " ".join(shown) or "0 s"


def write_rows(
    invocation: Invocation,
    schema: type[Schema],
    rows: Sequence[Any],
    write: Callable[[Any], None],
    *,
    as_csv: bool,
    nothing: str,
    remedy: str = "",
) -> None:
    """Write rows as JSON, as CSV or as a table; if there are none, say so."""
    if invocation.as_json:
        write_exact(schema.list_of(rows))
    elif as_csv:
        write_csv(column_names(schema), (each.model_dump() for each in schema.list_of(rows)))
    elif rows:
        write(rows)
    else:
        write_line(nothing, Cell(f"  {remedy}" if remedy else "", "dim"))


def note_more(invocation: Invocation, page: Any, limit: int, export: str = "") -> None:
    """Say that there are more rows; not with JSON, because programs set their own limit."""
    if page.cursor is not None and not invocation.as_json:
        elsewhere = f", or {export}" if export else ""
        note(f"only the first {limit:,} are listed; use --limit to list more{elsewhere}")


def write_report(invocation: Invocation, report: ActionReport, one: str, many: str, missing: str | None = None) -> None:
    """Write what a bulk action did; ends with 1 if the reason for every item is `missing`: there is no such thing."""
    if invocation.as_json:
        from comity.doors.schemas.queue import BulkReport as BulkView

        write_exact(BulkView.model_validate(report))
    else:
        write_bulk(report, one, many)
    if missing is not None and all(item.reason == missing for item in report.items):
        raise typer.Exit(1)
