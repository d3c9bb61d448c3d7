"""Demonstration data of the queue: shops with prices that change, jobs in every status, bots and webhooks."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import zstandard
from sqlalchemy import Connection, insert, select, update

from comity.assemble import State
from comity.database.queue.tables import (
    bots,
    crawl_jobs,
    crawl_policies,
    crawl_results,
    late_submissions,
    webhook_deliveries,
)
from comity.operate.bots import add_bot, revoke_bot
from comity.operate.queue import PolicyAction, act_on_policies, add_policy
from comity.operate.webhooks import DELIVERIES, add_webhook, list_webhooks
from comity.reports.queue import JOBS, LATE, RESULTS, find_policy

SHOPS = ("garden-tools.example", "lampenhaus.example", "tienda-norte.example")
PRODUCTS = ("watering-can-8l", "pruning-shears", "desk-lamp-brass", "olive-oil-500ml", "wool-blanket", "kettle-steel")
BOTS = ("shop-bot-1", "shop-bot-2", "price-watcher.eu", "night-crawler", "old-laptop")
HOSTILE_TITLE = "<script>document.title='run'</script><b>Lamp</b>"
HOSTILE_PAGE = (
    "<html><body onload=\"document.title='run'\"><script>document.title='run'</script><h1>Lamp</h1></body></html>"
)


def seed_queue(state: State) -> None:
    """Policies, jobs, results, bots and webhooks."""
    now = state.clock.now()
    for number, name in enumerate(BOTS):
        add_bot(
            state.database, state.clock, name, note="a laptop in the hall" if number == 4 else None, max_jobs_in_hand=20
        )
    revoke_bot(state.database, BOTS[4])
    policies = [
        add_policy(
            state.database,
            state.clock,
            f"https://{shop}/products/{product}",
            priority=(number * 3 + index) % 9,
            frequency_hours=(6, 24, 24, 168)[index % 4],
            schedule="adaptive" if index == 2 else "fixed",
            crawl_config={"selector": ".price"} if index == 0 else None,
        )
        for number, shop in enumerate(SHOPS)
        for index, product in enumerate(PRODUCTS)
    ]
    act_on_policies(state.database, state.clock, PolicyAction.DISABLE, policies[4::7])
    webhook, _ = add_webhook(
        state.database,
        state.clock,
        "https://hooks.example/prices",
        ["price.changed", "job.failed"],
        note="the shop team",
    )
    add_webhook(state.database, state.clock, "https://alerts.example/comity", ["job.failed"], enabled=False)
    with state.database.write() as connection:
        for number, policy_id in enumerate(policies):
            _history(connection, policy_id, number, now)
        _open_jobs(connection, policies, now)
        _figures(connection, now)
        _deliveries(connection, webhook.id, now)


def queue_paths(state: State) -> list[str]:
    """The pages of one policy, job, result, bot, webhook and delivery."""
    database = state.database
    policy = find_policy(database, f"https://{SHOPS[0]}/products/{PRODUCTS[0]}")
    job = JOBS.page(database, limit=1, status="locked").items[0]
    failed = JOBS.page(database, limit=1, status="failed").items[0]
    result = RESULTS.page(database, limit=1, policy_id=policy.id).items[0]
    late = LATE.page(database, limit=1).items[0]
    webhook = list_webhooks(database)[0]
    delivery = DELIVERIES.page(database, limit=1, status="failed").items[0]
    return [
        *(f"/crawl_policies/{policy.id}{end}" for end in ("", "/edit", "/delete")),
        f"/crawl_jobs/{job.id}",
        f"/crawl_jobs/{failed.id}",
        f"/crawl_results/{result.id}",
        f"/crawl_results/late/{late.id}",
        *(f"/bots/{BOTS[0]}{end}" for end in ("", "/quarantine", "/revoke", "/new-key")),
        *(f"/webhooks/{webhook.id}{end}" for end in ("", "/edit", "/new-secret", "/delete")),
        f"/webhooks/deliveries/{delivery.id}",
    ]


def _history(connection: Connection, policy_id: UUID, number: int, now: datetime) -> None:
    """A month of results of one policy, and sometimes a failure."""
    policy = connection.execute(select(crawl_policies).where(crawl_policies.c.id == policy_id)).one()
    count = 40 if number == 0 else 6
    for index in range(count):
        at = now - timedelta(hours=(count - index) * 17 - number, minutes=number)
        job_id = _job(connection, policy, at, f"shop-bot-{index % 2 + 1}")
        if (index + number) % 9 == 4:
            _move(connection, job_id, at, status="failed", error_msg="Timeout: the page did not load", finished_at=at)
            continue
        _move(connection, job_id, at, status="done", finished_at=at, submitted_by=f"shop-bot-{index % 2 + 1}")
        price = Decimal(str(round(24 + number * 3 + 4 * math.sin(index / 4) - (3 if index % 11 > 8 else 0), 2)))
        page = HOSTILE_PAGE if number == 0 else f"<html><title>{policy.url}</title></html>"
        connection.execute(
            insert(crawl_results).values(
                job_id=job_id,
                policy_id=policy_id,
                url=policy.url,
                price=price,
                currency=("EUR", "EUR", "USD")[number % 3],
                title=HOSTILE_TITLE if number == 0 else policy.url.rpartition("/")[2].replace("-", " ").capitalize(),
                in_stock=(index + number) % 5 != 0,
                parsed_data={"sku": f"P-{number:03}", "rating": 4.2},
                raw_html=zstandard.ZstdCompressor().compress(page.encode()),
                raw_html_bytes=len(page.encode()),
                bot_id=f"shop-bot-{index % 2 + 1}",
                crawled_at=at,
                created_at=at,
            )
        )
    values: dict[str, Any] = {
        "last_price": Decimal("24.90") + number,
        "last_currency": ("EUR", "EUR", "USD")[number % 3],
        "last_success_at": now - timedelta(hours=17 - number % 5),
        "next_run_at": now + timedelta(minutes=37 * number - 90),
        "failure_count": 3 if number % 6 == 5 else 0,
    }
    connection.execute(update(crawl_policies).where(crawl_policies.c.id == policy_id).values(**values))


def _open_jobs(connection: Connection, policies: list[UUID], now: datetime) -> None:
    """A job in each status that is not final, and one that waits for a retry."""
    for number, policy_id in enumerate(policies[:12]):
        policy = connection.execute(select(crawl_policies).where(crawl_policies.c.id == policy_id)).one()
        at = now - timedelta(minutes=3 * number + 2)
        if number % 4 == 0:
            _job(connection, policy, at, BOTS[number // 4], locked_at=now - timedelta(minutes=number))
        elif number % 4 == 1:
            _new(connection, policy, at)
        elif number % 4 == 2:
            job_id = _job(connection, policy, at, BOTS[3], locked_at=at)
            _move(connection, job_id, at, status="expired", moved_by="sweeper", move_reason="the lock ran out")
            if number == 2:
                connection.execute(
                    insert(late_submissions).values(
                        job_id=job_id,
                        bot_id=BOTS[3],
                        submission_digest=uuid4().hex,
                        content={"success": True, "price": "19.99", "currency": "EUR"},
                        received_at=now - timedelta(minutes=1),
                    )
                )
        else:
            job_id = _job(connection, policy, at, BOTS[1], locked_at=at)
            later = now + timedelta(minutes=65 + number)
            _move(connection, job_id, at, status="pending", not_before=later, retry_count=1, error_msg="HTTP 503")


def _new(connection: Connection, policy: Any, at: datetime) -> UUID:
    values = {"policy_id": policy.id, "domain_id": policy.domain_id, "url": policy.url, "priority": policy.priority}
    statement = insert(crawl_jobs).values(**values, created_at=at, updated_at=at).returning(crawl_jobs.c.id)
    found: UUID = connection.execute(statement).scalar_one()
    return found


def _job(connection: Connection, policy: Any, at: datetime, bot: str, locked_at: datetime | None = None) -> UUID:
    """A job that a bot has locked."""
    job_id = _new(connection, policy, at)
    locked_at = locked_at or at
    ends = locked_at + timedelta(minutes=10)
    _move(
        connection,
        job_id,
        locked_at,
        status="locked",
        locked_by=bot,
        locked_at=locked_at,
        lock_ends_at=ends,
        moved_by=bot,
    )
    return job_id


def _move(connection: Connection, job_id: UUID, at: datetime, **values: Any) -> None:
    connection.execute(update(crawl_jobs).where(crawl_jobs.c.id == job_id).values(**values, updated_at=at))


def _figures(connection: Connection, now: datetime) -> None:
    for number, name in enumerate(BOTS[:4]):
        values: dict[str, Any] = {
            "jobs_pulled": 1480 - 311 * number,
            "jobs_done": 1392 - 300 * number,
            "jobs_failed": 61 + 9 * number,
            "last_seen_at": now - timedelta(minutes=4 * number, seconds=12),
        }
        if number == 3:
            until = now + timedelta(minutes=48)
            values |= {"status": "quarantined", "consecutive_failures": 10, "quarantined_until": until}
        connection.execute(update(bots).where(bots.c.bot_id == name).values(**values))


def _deliveries(connection: Connection, webhook_id: UUID, now: datetime) -> None:
    for number in range(14):
        status = "failed" if number % 6 == 5 else "pending" if number == 0 else "delivered"
        at = now - timedelta(minutes=23 * number)
        connection.execute(
            insert(webhook_deliveries).values(
                webhook_id=webhook_id,
                event="job.failed" if number % 4 == 3 else "price.changed",
                payload={"url": f"https://{SHOPS[0]}/products/{PRODUCTS[number % 6]}", "price": "24.90"},
                status=status,
                attempts=1 if status == "delivered" else number % 5 + 1,
                last_status={"delivered": 204, "failed": 500}.get(status),
                last_error="the receiver answered 500" if status == "failed" else None,
                created_at=at,
                delivered_at=at if status == "delivered" else None,
                next_attempt_at=now + timedelta(days=1) if status == "pending" else None,
            )
        )
