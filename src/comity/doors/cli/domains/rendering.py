"""Hosts as rows of a table, in full, and as JSON with the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from comity.doors.cli.output import (
    Cell,
    TextColumn,
    TextRow,
    render_time,
    visible,
    write_line,
    write_pairs,
    write_table,
)
from comity.model.host import HostStatus
from comity.model.wording import counted
from comity.rules.politeness.policy import reaches
from comity.rules.request_options import mask_proxy

if TYPE_CHECKING:
    from comity.reports.hosts import HostInFull, HostLine

STATUS_STYLES: Final = {
    HostStatus.PENDING: "cyan",
    HostStatus.ACTIVE: "green",
    HostStatus.EXHAUSTED: "dim",
    HostStatus.BLOCKED: "red",
    HostStatus.UNREACHABLE: "yellow",
}
_COLUMNS: Final = (
    TextColumn("DOMAIN"),
    TextColumn("STATUS"),
    TextColumn("PAGES"),
    TextColumn("IMAGES"),
    TextColumn("YIELD"),
    TextColumn("LAST CRAWLED"),
)
_LEFT_ALONE: Final = frozenset({HostStatus.BLOCKED, HostStatus.UNREACHABLE})


def write_hosts(lines: Sequence[HostLine]) -> None:
    """Write hosts as a table, with the reason if one is blocked or unreachable."""
    write_table(_COLUMNS, [_row(line) for line in lines])


def line_document(line: HostLine) -> dict[str, Any]:
    """One host of a listing, under the names of the columns."""
    from comity.doors.schemas.hosts import host_summary

    return host_summary(line).document()


def host_document(host: HostInFull) -> dict[str, Any]:
    """One host in full: its columns, its frontier and its policy."""
    from comity.doors.schemas.hosts import host_view

    return host_view(host).document()


def status_cell(status: HostStatus) -> Cell:
    """A status in its colour."""
    return Cell(str(status), STATUS_STYLES[status])


def render_yield(value: float | None) -> str:
    """Images a page: coarse when there are many, finer when there are few."""
    if value is None:
        return "-"
    return f"{value:.1f}" if value >= 1 or value == 0 else f"{value:.2f}"


def reason_of(code: str | None, text: str | None) -> str | None:
    """Why a host is blocked or unreachable: the sentence, and the code if the sentence does not contain it."""
    if text and code and code not in text:
        return f"{text} ({code})"
    return text or code


def write_host(host: HostInFull, now: datetime) -> None:
    """Write everything that is known of one host, a group at a time."""
    row = host.columns
    write_line(Cell(str(row["domain"]), "bold"), "  ", status_cell(row["status"]))
    for title, pairs in _groups(host, row, now):
        known = [(name, value) for name, value in pairs if value is not None]
        if known:
            write_line()
            write_line(Cell(title, "bold"))
            write_pairs(known)


def _row(line: HostLine) -> TextRow:
    reason = reason_of(line.reason_code, line.reason) if line.status in _LEFT_ALONE else None
    cells = (
        line.host,
        status_cell(line.status),
        f"{line.pages_crawled}/{line.pages_discovered}",
        str(line.images_stored),
        render_yield(line.image_yield),
        render_time(line.last_crawled_at),
    )
    return TextRow(cells, f"reason: {reason}" if reason else None)


def _groups(
    host: HostInFull, row: Mapping[str, Any], now: datetime
) -> list[tuple[str, list[tuple[str, str | Cell | None]]]]:
    """Groups of facts, in the order of interest; a value of None is left out."""
    return [
        ("Status", _status(row, now)),
        ("Progress", _progress(host, row)),
        ("Errors among the last fetches", _errors(host)),
        ("Schedule", _schedule(row)),
        ("Lease", _lease(row, now)),
        ("Gate", _gate(row, now)),
        ("Policy", _policy(host.policy)),
    ]


def _status(row: Mapping[str, Any], now: datetime) -> list[tuple[str, str | Cell | None]]:
    return [
        ("reason", reason_of(row["block_reason_code"], row["block_reason"])),
        ("blocked since", _time(row["first_blocked_at"])),
        ("automatic retries", _unless_zero(row["cooldown_count"], "time")),
        ("next crawl", _not_before(row["next_crawl_after"], now)),
        ("seeded", None if row["is_seeded"] else "no: known by name only, so not crawled as a whole site"),
        ("belongs to", None if row["parent_domain"] == row["domain"] else row["parent_domain"]),
    ]


def _progress(host: HostInFull, row: Mapping[str, Any]) -> list[tuple[str, str | Cell | None]]:
    pages = row["pages_crawled"]
    images = f"{row['images_stored']:,} stored of {row['images_found']:,} found"
    share = row["images_stored"] / pages if pages else None
    left_out = row["left_out_recorded"] + row["left_out_unrecorded"]
    return [
        ("pages", f"{pages:,} crawled of {row['pages_discovered']:,} discovered"),
        ("images", f"{images}, {render_yield(share)} per page" if pages else images),
        ("errors", f"{row['total_error_count']:,} ({row['consecutive_error_count']:,} in a row)"),
        ("frontier", f"{host.queued:,} queued, {host.done:,} done, {host.dropped:,} dropped"),
        (
            "too deep",
            f"{counted(host.too_deep, 'link')}: a larger --max-depth follows them" if host.too_deep else None,
        ),
        ("left out", f"{counted(left_out, 'URL')}: other patterns follow them" if left_out else None),
        ("deepest page", _unless_zero(row["crawl_depth_reached"], "link", " from the start")),
        ("pages per run", None if row["max_pages_per_run"] is None else f"at most {row['max_pages_per_run']:,}"),
    ]


def _errors(host: HostInFull) -> list[tuple[str, str | Cell | None]]:
    """Each kind of error with its count, and under it some of its URLs."""
    lines: list[tuple[str, str | Cell | None]] = []
    for line in host.errors:
        last = f"last {render_time(line.at)} UTC"
        lines.append((visible(line.code), Cell(f"{counted(line.count, 'time')}, {last}", "yellow")))
        lines += [("", visible(url)) for url in line.urls]
    return lines


def _schedule(row: Mapping[str, Any]) -> list[tuple[str, str | Cell | None]]:
    rank = row["seed_rank"]
    return [
        ("priority", f"{row['priority_score']:,}"),
        ("seed rank", None if rank is None else f"{rank:,}"),
        ("source", row["source"]),
        ("first seen", _time(row["first_seen_at"])),
        ("last crawled", _time(row["last_crawled_at"]) or "never"),
    ]


def _lease(row: Mapping[str, Any], now: datetime) -> list[tuple[str, str | Cell | None]]:
    if row["claimed_by"] is None:
        return [("held by", "no one")]
    ended = row["claim_expires_at"] <= now
    when = f"{'expired' if ended else 'until'} {_time(row['claim_expires_at'])}"
    return [
        ("held by", str(row["claimed_by"])),
        ("lease", Cell(when, "yellow" if ended else "")),
        ("token", str(row["lease_token"])),
    ]


def _gate(row: Mapping[str, Any], now: datetime) -> list[tuple[str, str | Cell | None]]:
    delay, latency = row["adaptive_delay_s"], row["latency_recent_s"]
    return [
        ("last request", _time(row["last_start_at"])),
        ("next request", _not_before(row["next_fetch_at"], now)),
        ("site asked to wait", _not_before(row["blocked_until"], now)),
        ("back-off step", str(row["backoff_step"]) if row["backoff_step"] else None),
        ("adaptive delay", f"{delay:.2f} s" if delay else None),
        ("response time", f"{latency * 1000:.0f} ms" if latency is not None else None),
    ]


def _policy(policy: Mapping[str, Any] | None) -> list[tuple[str, str | Cell | None]]:
    return [] if policy is None else policy_pairs(policy)


def policy_pairs(policy: Mapping[str, Any]) -> list[tuple[str, str | Cell | None]]:
    """A policy: each limit with what it applies to."""
    binds = reaches(is_page_size_set=policy["is_page_size_set"])
    return [
        ("requests at once", f"at most {policy['max_concurrency']:,} (for {binds['max_concurrency']})"),
        (
            "between requests",
            f"at least {policy['min_request_interval_ms']:,} ms (for {binds['min_request_interval_ms']})",
        ),
        ("pages per run", f"at most {policy['max_pages']:,} (for {binds['max_pages']})"),
        ("size of a page", f"at most {policy['max_kb_per_page']:,} KB (for {binds['max_kb_per_page']})"),
        ("JavaScript", "allowed, but not supported yet" if policy["allow_js"] else "not run"),
        ("include", ", ".join(policy["include"]) or None),
        ("exclude", ", ".join(policy["exclude"]) or None),
        ("last seen", policy["last_seen_status"]),
        *_carried(policy.get("request_options") or {}),
    ]


def _carried(options: Mapping[str, Any]) -> list[tuple[str, str | Cell | None]]:
    """What requests carry, by reference."""
    pairs: list[tuple[str, str | Cell | None]] = [
        (label, ", ".join(options[name]))
        for name, label in (("headers", "headers"), ("cookies", "cookies"), ("auth", "credentials"), ("login", "login"))
        if options.get(name)
    ]
    if options.get("proxy"):
        pairs.append(("proxy", ", ".join(map(mask_proxy, options["proxy"]))))
    if options.get("keep_cookies"):
        pairs.append(("kept cookies", "yes"))
    return [*pairs, ("sent to", ", ".join(options["origins"]))] if pairs else []


def _time(value: datetime | None) -> str | None:
    return None if value is None else f"{render_time(value)} UTC"


def _not_before(value: datetime | None, now: datetime) -> str | None:
    """A time, if it is in the future."""
    return f"not before {_time(value)}" if value is not None and value > now else None


def _unless_zero(number: int, thing: str, rest: str = "") -> str | None:
    return f"{counted(number, thing)}{rest}" if number else None
