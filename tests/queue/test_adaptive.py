"""Policies with the adaptive schedule, through submits on each database."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import select

from comity.database.queue.tables import crawl_policies
from tests.queue.service import Service


def policy_row(service: Service, policy_id: UUID) -> dict[str, Any]:
    with service.state.database.read() as connection:
        wanted = select(crawl_policies).where(crawl_policies.c.id == policy_id)
        return dict(connection.execute(wanted).one()._mapping)


def waits(service: Service, policy_id: UUID, prices: list[str]) -> list[float]:
    """How many hours follow each result, with visits at the planned times."""
    found: list[float] = []
    clock = service.state.clock
    for price in prices:
        job_id = service.job(policy_id=policy_id)
        service.pull_one("a")
        service.submit("a", job_id, price=Decimal(price), currency="EUR", in_stock=True)
        wait = policy_row(service, policy_id)["next_run_at"] - clock.now()
        found.append(wait / timedelta(hours=1))
        clock.advance(seconds=wait.total_seconds())
        service.allow("shop.example")
    return found


def test_a_quiet_price_is_asked_less_often_and_a_busy_one_more(service: Service) -> None:
    quiet = waits(service, service.policy(schedule="adaptive", frequency_hours=24), ["10"] * 6)
    assert quiet == sorted(quiet)
    assert 24 < quiet[-1] <= 8 * 24
    other = service.policy("https://shop.example/2", schedule="adaptive", frequency_hours=24)
    busy = waits(service, other, ["1", "2", "3", "4", "5", "6"])
    assert 12 <= busy[-1] < busy[0] + 1 <= 25
    kept = policy_row(service, other)["change_statistics"]
    assert kept["visits"] == 5
    assert kept["changes"] / kept["exposure_days"] > 1


def test_a_fixed_policy_stays_fixed(service: Service) -> None:
    policy_id = service.policy(frequency_hours=6)
    assert waits(service, policy_id, ["1", "2", "2"]) == [6, 6, 6]
    assert policy_row(service, policy_id)["change_statistics"] is None
