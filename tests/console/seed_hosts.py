"""Hosts, their requests and decisions, and stored pages; some of it as hostile as a site can make it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from sqlalchemy import insert, update

from comity.assemble import State
from comity.database import ledger, robots
from comity.database.tables import domain_frontier, domains, evidence, fetches
from comity.model.gate import DelayInForce, DelaySource
from comity.model.host import HostStatus
from comity.operate.policy import set_policy
from comity.operate.takedown import add_takedowns
from comity.rules.canonical import url_key
from tests.database.states import put_host
from tests.reports.ledgers import request
from tests.store.light import nothing, page
from tests.store.samples import store_all

XSS = "<img src=x onerror=window.ran=1><script>window.ran=1</script>\"'><svg onload=window.ran=1>"
HOSTILE = "hostile.example"
PLAIN = "harbour-museum.example"
TAKEN_DOWN = "private-diary.example"
HOSTILE_URL = f"https://{HOSTILE}/a?q=%3Cscript%3E\"'><svg/onload=window.ran=1>"
ROBOTS = f"""# {XSS}
User-agent: *
Disallow: /private # {XSS}
Allow: /private/open
Crawl-delay: 2

User-agent: badbot{XSS}
Disallow: /
Sitemap: https://{PLAIN}/sitemap.xml
"""
STATUSES = (HostStatus.ACTIVE, HostStatus.PENDING, HostStatus.EXHAUSTED, HostStatus.BLOCKED, HostStatus.UNREACHABLE)
REASONS = {
    HostStatus.BLOCKED: ("forbidden", "403 Forbidden, five times"),
    HostStatus.UNREACHABLE: ("dns_failure", "no such name"),
}
NAMES = ("library", "gazette", "orchard", "observatory", "ferry", "archive", "bakery", "atlas", "conservatory")


def paths_of_hosts(_state: State) -> list[str]:
    """Pages about one host, one stored page and one URL."""
    url = quote(f"https://{PLAIN}/", safe="")
    tabs = ("", "/requests", "/urls", "/evidence", "/fetches", "/moves", "/cooldown", "/reset")
    return [
        *(f"/hosts/{PLAIN}{tab}" for tab in tabs),
        f"/robots/{PLAIN}?url=/private/x",
        f"/domain_policies/{PLAIN}",
        f"/why?url={url}",
        f"/why?url={quote(HOSTILE_URL, safe='')}",
        f"/pages/view?url={quote(f'https://{PLAIN}/exhibits/1', safe='')}",
        f"/takedowns/remove?entry={TAKEN_DOWN}",
        "/pages/query?sql=SELECT%20url,%20http_status,%20title%20FROM%20pages%20LIMIT%2020",
    ]


def seed_takedowns(state: State) -> None:
    """A host and a part of another that are never requested."""
    add_takedowns(state.database, [TAKEN_DOWN], reason="The owner asked for it by mail.", frontier=state.frontier)
    add_takedowns(state.database, [f"{PLAIN}/staff"], reason=None, frontier=state.frontier)


def seed_histories(state: State) -> None:
    """Twenty-some hosts of every status, one with a history, one hostile."""
    now = state.clock.now()
    with state.database.write() as connection:
        for number in range(24):
            status = STATUSES[number % len(STATUSES)]
            code, reason = REASONS.get(status, (None, None))
            put_host(
                connection,
                {
                    "domain": f"{NAMES[number % len(NAMES)]}-{number:02}.example",
                    "status": status,
                    "pages_crawled": 0 if status is HostStatus.PENDING else 40 + number * 17,
                    "pages_discovered": 60 + number * 31,
                    "frontier_size": 20 + number * 3,
                    "priority_score": (number * 37) % 100,
                    "last_crawled_at": None if status is HostStatus.PENDING else now - timedelta(hours=number + 1),
                    "next_crawl_after": now + timedelta(days=number % 9 + 1) if code else None,
                    "block_reason_code": code,
                    "block_reason": reason,
                },
            )
        for host in (PLAIN, HOSTILE):
            _history(connection, host, now)
    set_policy(state.database, state.clock, PLAIN, min_request_interval_ms=2000, exclude=["/calendar/*"])


def _history(connection: Any, host: str, now: Any) -> None:
    hostile = XSS if host == HOSTILE else ""
    host_id = put_host(connection, {"domain": host, "priority_score": 61, "source": f"friends{hostile}"})
    connection.execute(
        update(domains)
        .where(domains.c.id == host_id)
        .values(
            status=HostStatus.ACTIVE,
            claimed_by=f"worker-3:4711{hostile}"[:250] if hostile else "worker-3:4711:88123456:a1b2c3",
            claim_expires_at=now + timedelta(minutes=30),
            pages_crawled=412,
            pages_discovered=590,
            frontier_size=3,
            last_crawled_at=now - timedelta(minutes=4),
            adaptive_delay_s=2.4,
            latency_recent_s=0.31,
            latency_baseline_s=0.22,
            next_fetch_at=now + timedelta(seconds=2),
        )
    )
    if hostile:
        values = {"status": HostStatus.BLOCKED, "block_reason": f"403 {hostile}", "block_reason_code": "forbidden"}
        connection.execute(update(domains).where(domains.c.id == host_id).values(**values))
    _requests(connection, host_id, host, now)
    _visits(connection, host_id, host, now, hostile)
    body = ROBOTS if hostile else ROBOTS.replace(XSS, "")
    robots.put(
        connection,
        {
            "origin": f"https://{host}",
            "host": host,
            "robots_txt": body,
            "fetched_at": now - timedelta(hours=2),
            "expires_at": now + timedelta(hours=10),
            "http_status": 200,
            "access": "parse",
            "detail": hostile or None,
        },
    )


def _requests(connection: Any, host_id: UUID, host: str, now: Any) -> None:
    """Two runs: one long ago, one with a pause that the host asked for."""
    rows, at, number = [], now.timestamp() - 90_000, 0
    for gap in (0, 2.1, 2.3, 4.0, 2.05, 2.2, 89_000, 2.1, 2.0, 3.5, 2.2, 2.1, 22.4, 2.1, 2.6, 2.0, 2.2, 5.1, 2.0):
        at, number = at + gap, number + 1
        changes: dict[str, Any] = {
            "delay": DelayInForce(2.0, DelaySource.ROBOTS),
            "ended_at": at + 0.2 + number % 4 * 0.25,
        }
        if number == 12:
            changes |= {"status": 429, "retry_after_s": 20.0, "blocked_until": at + 0.4 + 20.0, "ended_at": at + 0.4}
        if host == HOSTILE:
            changes["url"] = f"{HOSTILE_URL}{number}"
        rows.append(request(host_id, host, number, at, **changes))
    ledger.append_requests(connection, None, rows)


def _visits(connection: Any, host_id: UUID, host: str, now: Any, hostile: str) -> None:
    visits, decisions, urls = [], [], []
    for number in range(30):
        address = f"{HOSTILE_URL}{number}" if hostile else f"https://{host}/exhibits/{number}"
        at, error = now - timedelta(minutes=4 * number), (f"http_500{hostile}" if number % 7 == 3 else None)
        visits.append(
            {
                "domain": host,
                "domain_id": host_id,
                "page_url": address,
                "url_key": url_key(address),
                "outcome": "failed" if error else "fetched",
                "status": 500 if error else 200,
                "error": error,
                "content_type": f"text/html{hostile}",
                "bytes_received": 18_000 + number * 311,
                "duration_ms": 180 + number * 9,
                "crawled_at": at,
            }
        )
        is_allowed = number % 3 == 0
        decided = address if hostile or is_allowed else f"https://{host}/private/{number}"
        allowed = {"reason": "no rule matches", "crawl_delay": 2}
        denied = {"matched_rule": f"Disallow: /private{hostile}", "line": 3, "crawl_delay": 2}
        decisions.append(
            {"domain_id": host_id, "url": decided, "url_key": url_key(decided), "created_at": at}
            | {"type": "robots_allowed" if is_allowed else "blocked_by_robots"}
            | {"content": allowed if is_allowed else denied}
        )
        state = (0, 1, 1, 2)[number % 4]
        urls.append({"domain_id": host_id, "url": address, "url_key": url_key(address), "state": state, "depth": 2})
    connection.execute(insert(fetches), visits)
    connection.execute(insert(evidence), decisions)
    connection.execute(insert(domain_frontier), urls)


def seed_pages(state: State) -> None:
    """Pages as a crawl stores them."""
    words = "<main><h1>{0}</h1><p>The harbour museum keeps the {0}. It is open on weekdays from ten to five.</p></main>"
    titles = (
        "Schooner logbooks",
        "Lighthouse lenses",
        "Charts of the bay",
        "Tide tables",
        "Visiting",
        "Ropes and knots",
    )
    records = []
    for number, title in enumerate(titles * 5, 1):
        html = f"<!doctype html><title>{title}</title>{words.format(title)}".encode()
        address = f"https://{PLAIN}/exhibits/{number}"
        records.append(
            page(number, html, url=address, final_url=address, title=title, content_type="text/html", url_key=number)
        )
    body = f"<title>{XSS}</title><p>{XSS}</p><script>window.ran=1</script>".encode()
    records.append(
        page(
            90,
            body,
            url=HOSTILE_URL,
            final_url=HOSTILE_URL,
            title=XSS,
            content_type=f"text/html{XSS}",
            etag=XSS,
            last_modified=XSS,
        )
    )
    records.append(nothing(91, f"http_404{XSS}", url=f"https://{HOSTILE}/gone", final_url=None))
    newest = state.clock.now().timestamp()
    stored = [each._replace(crawl_time=newest - 60 * (100 - each.url_key)) for each in records]
    store_all(Path(state.settings.pages), stored)
