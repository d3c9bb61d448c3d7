"""Webhooks: events become deliveries in the transaction of a submit, and are sent at least once, signed and bounded."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from comity.database.queue import webhooks as statements
from comity.database.queue.tables import webhook_deliveries, webhooks
from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from comity.model.errors import BadInput, ComityError, NotFound
from comity.model.fetch import FetchLimits
from comity.model.queue import WebhookEvent
from comity.model.webhook import DeliveryStatus
from comity.operate.webhooks import (
    DELIVERIES,
    MOST_WEBHOOKS,
    add_test_delivery,
    add_webhook,
    delete_webhook,
    delivery_counts,
    disable_webhook,
    edit_webhook,
    enable_webhook,
    get_delivery,
    get_webhook,
    list_webhooks,
    renew_secret,
    send_again,
)
from comity.rules.address_guard import parse_networks
from comity.upkeep import send_webhooks
from comity.upkeep.send_webhooks import LIMITS, Sent, WebhookSender, request_of
from comity.walk.bots.locks import MOST_EXPIRIES
from tests.database.states import State
from tests.queue.service import Service
from tests.receiver import is_authentic
from tests.walk.site import Answer, Asked, Web, redirect

EVENTS = [str(event) for event in WebhookEvent]
SECRET = "a secret of the receiver"
ENVIRONMENT = {"WEBHOOK_SECRET_SHOP": "a secret of the environment", "WEBHOOK_SECRET_SHORT": "short", "OTHER": "x" * 20}
LOOPBACK = parse_networks(["127.0.0.0/8"])
RESULT = {"price": Decimal("99.90"), "currency": "USD", "title": "Product", "in_stock": True}


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as found:
        yield found


def sender(state: State, *networks: str, every_s: float = 0.02) -> WebhookSender:
    settings = FetchSettings(user_agent="ComityBot/1.0", allowed_networks=networks)
    clock = state.clock
    return WebhookSender(
        state.database, clock, lambda: CurlFetcher(settings, clock.seconds), ENVIRONMENT, every_s=every_s
    )


def send(state: State) -> Sent:
    return asyncio.run(sender(state, "127.0.0.0/8").send_due())


def hook(state: State, url: str, *events: str, **columns: Any) -> UUID:
    options = {"secret": SECRET, "networks": LOOPBACK} | columns
    added, _ = add_webhook(state.database, state.clock, url, events or EVENTS, **options)
    return added.id


def deliver(state: State, webhook_id: UUID, count: int = 1, **columns: Any) -> list[UUID]:
    """Deliveries that are due, without jobs."""
    now = state.clock.now()
    values = {"webhook_id": webhook_id, "event": "job.done", "payload": {"job_id": "1"}}
    values |= {"created_at": now, "next_attempt_at": now} | columns
    with state.database.write() as connection:
        statement = insert(webhook_deliveries).values(**values).returning(webhook_deliveries.c.id)
        return [connection.execute(statement).scalar_one() for _ in range(count)]


def rows(state: State) -> list[dict[str, Any]]:
    with state.database.read() as connection:
        found = connection.execute(select(webhook_deliveries).order_by(webhook_deliveries.c.created_at))
        return [dict(row._mapping) for row in found]


def events_of(state: State) -> Counter[str]:
    return Counter(row["event"] for row in rows(state))


def test_the_first_and_the_next_result_cause_their_events(service: Service) -> None:
    """A webhook is called from the next submit on, whenever it was added."""
    policy_id = service.policy()
    for price, stock in (("19.90", True), ("19.9", False), ("19.91", True), ("19.910", True)):
        job_id = service.job(policy_id=policy_id)
        service.pull_one("a")
        service.submit("a", job_id, price=Decimal(price), currency="EUR", in_stock=stock)
        if price == "19.90":
            assert rows(service.state) == []
            hook(service.state, "https://hook.example/")
        service.state.clock.advance(seconds=5)
    assert events_of(service.state) == {"job.done": 3, "price.changed": 1, "stock.back": 1}
    (changed,) = [row["payload"] for row in rows(service.state) if row["event"] == "price.changed"]
    assert (changed["price"], changed["currency"]) == ("19.91", "EUR")
    assert (Decimal(changed["former_price"]), changed["former_currency"]) == (Decimal("19.90"), "EUR")


def test_a_repeated_submit_and_a_retry_cause_no_second_event(service: Service) -> None:
    hook(service.state, "https://hook.example/")
    job_id = service.job()
    service.pull_one("a")
    assert service.submit("a", job_id, **RESULT) == service.submit("a", job_id, **RESULT)
    service.state.clock.advance(seconds=5)
    failing = service.job("https://shop.example/2", max_retries=1)
    service.pull_one("a")
    service.submit("a", failing, success=False, error_msg="gone")
    assert events_of(service.state) == {"job.done": 1}


def test_a_failed_job_is_an_event_also_when_its_locks_ran_out(service: Service) -> None:
    hook(service.state, "https://hook.example/", "job.failed")
    failing = service.job(max_retries=0)
    service.pull_one("a")
    service.submit("a", failing, success=False, error_msg="gone")
    service.state.clock.advance(seconds=5)
    service.job("https://shop.example/2", expiry_count=MOST_EXPIRIES - 1)
    service.pull_one("a")
    service.state.clock.advance(hours=1)
    assert service.locks.expire() == 1
    first, second = (row["payload"] for row in rows(service.state))
    assert (first["error_msg"], first["url"]) == ("gone", "https://shop.example/1")
    assert second["error_msg"] == f"the lock ran out {MOST_EXPIRIES} times"


def test_a_webhook_that_is_disabled_or_deleted_gets_nothing_more(service: Service) -> None:
    kept, disabled, deleted = (hook(service.state, f"https://hook{number}.example/") for number in range(3))
    for number in range(2):
        job_id = service.job(f"https://shop.example/{number}")
        service.pull_one("a")
        service.submit("a", job_id, **RESULT)
        service.state.clock.advance(seconds=5)
        disable_webhook(service.state.database, service.state.clock, disabled)
        if number == 0:
            delete_webhook(service.state.database, deleted)
    assert Counter(row["webhook_id"] for row in rows(service.state)) == {kept: 2, disabled: 1}


def test_a_submit_does_not_fail_when_a_webhook_is_deleted_meanwhile(service: Service) -> None:
    """On PostgreSQL the deletion waits for the submit; on SQLite they cannot meet."""
    webhook_id = hook(service.state, "https://hook.example/")
    database = service.state.database
    deleted = threading.Event()

    def remove() -> None:
        delete_webhook(database, webhook_id)
        deleted.set()

    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            now = service.state.clock.seconds()
            wanted = connection.exec_driver_sql(statements._wanted_text(connection.dialect.name)).all()
            removing = pool.submit(remove)
            assert len(wanted) == 1
            assert not deleted.wait(0.05)
            assert statements.enqueue(connection, {WebhookEvent.JOB_DONE: {}}, now) == 1
        removing.result(timeout=60)
    assert rows(service.state) == []


def test_a_call_is_signed_and_carries_its_event(state: State, web: Web) -> None:
    site = web.site({"/hook": Answer(204)})
    webhook_id = hook(state, site.url("/hook"))
    (delivery_id,) = deliver(state, webhook_id, payload={"title": "Zürich", "price": "19.90"})
    assert send(state) == Sent(delivered=1)
    (seen,) = site.log
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert (seen.method, seen.path, headers["content-type"]) == ("POST", "/hook", "application/json")
    assert (headers["x-comity-event"], headers["x-comity-delivery"]) == ("job.done", str(delivery_id))
    timestamp = int(headers["x-comity-timestamp"])
    assert timestamp == int(state.clock.seconds())
    assert is_authentic(SECRET, timestamp, seen.body, headers["x-comity-signature"], state.clock.seconds())
    assert json.loads(seen.body) == {
        "id": str(delivery_id),
        "event": "job.done",
        "created_at": "2026-02-07T12:00:00.000Z",
        "data": {"title": "Zürich", "price": "19.90"},
    }
    found = get_delivery(state.database, delivery_id)
    assert (found.status, found.attempts, found.last_status) == (DeliveryStatus.DELIVERED, 1, 204)
    assert (found.delivered_at, found.next_attempt_at) == (state.clock.now(), None)
    assert send(state) == Sent()


def test_a_failed_call_is_repeated_with_growing_pauses_and_then_given_up(state: State, web: Web) -> None:
    site = web.site({"/": Answer(500)})
    (delivery_id,) = deliver(state, hook(state, site.url()))
    for attempt, minutes in enumerate((1, 5, 30, 120, 720), start=1):
        assert send(state) == Sent(failed=1)
        found = get_delivery(state.database, delivery_id)
        assert (found.status, found.attempts) == (DeliveryStatus.PENDING, attempt)
        assert found.next_attempt_at == state.clock.now() + timedelta(minutes=minutes)
        assert found.last_error == "the receiver answered 500"
        state.clock.advance(minutes=minutes, seconds=-1)
        assert send(state) == Sent()
        state.clock.advance(seconds=1)
    assert send(state) == Sent(failed=1)
    found = get_delivery(state.database, delivery_id)
    assert (found.status, found.attempts, found.next_attempt_at) == (DeliveryStatus.FAILED, 6, None)
    bodies, stamps = ({seen.body for seen in site.log}, [_header(seen, "timestamp") for seen in site.log])
    assert len(bodies) == 1
    assert len(set(stamps)) == 6  # each attempt is signed anew


def test_a_webhook_is_disabled_after_twenty_failures_in_a_row(state: State, web: Web) -> None:
    answers = iter([500] * 19 + [200] + [404] * 20)
    site = web.site({"/": lambda _asked: Answer(next(answers))})
    webhook_id = hook(state, site.url())
    sending = sender(state, "127.0.0.0/8")
    for attempt in range(1, 40):
        deliver(state, webhook_id)
        sent = asyncio.run(sending.send_due())
        assert sent.disabled == 0
        assert get_webhook(state.database, webhook_id).consecutive_failures == (
            attempt if attempt < 20 else attempt - 20
        )
        state.clock.advance(milliseconds=1)
    deliver(state, webhook_id)
    assert asyncio.run(sending.send_due()) == Sent(failed=1, disabled=1)
    found = get_webhook(state.database, webhook_id)
    assert not found.enabled
    assert found.disabled_reason == "20 failures in a row; the receiver answered 404"
    state.clock.advance(hours=1)
    assert asyncio.run(sending.send_due()) == Sent()
    # What waits is kept, and sent once an operator has enabled it.
    site.routes["/"] = Answer(200)
    enabled = enable_webhook(state.database, state.clock, webhook_id)
    assert (enabled.consecutive_failures, enabled.disabled_reason) == (0, None)
    assert asyncio.run(sending.send_due()) == Sent(delivered=39)


def test_private_addresses_are_refused_unless_allowed(state: State, web: Web) -> None:
    site = web.site({"/": Answer(200)})
    webhook_id = hook(state, site.url())
    (delivery_id,) = deliver(state, webhook_id)
    assert asyncio.run(sender(state).send_due()) == Sent(failed=1)
    assert "address refused" in (get_delivery(state.database, delivery_id).last_error or "")
    assert site.log == []
    with pytest.raises(BadInput, match="cannot be called"):
        hook(state, site.url(), networks=())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(state: State, web: Web, status: int) -> None:
    site = web.site({"/": redirect("/elsewhere", status), "/elsewhere": Answer(200)})
    (delivery_id,) = deliver(state, hook(state, site.url()))
    assert send(state) == Sent(failed=1)
    assert site.paths == ["/"]
    expected = f"the receiver answered {status}; redirects are not followed"
    assert get_delivery(state.database, delivery_id).last_error == expected


def test_a_receiver_that_does_not_answer_is_left(state: State, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIMITS.total_timeout_s == 10.0
    limits = FetchLimits(total_timeout_s=0.2)
    monkeypatch.setattr(send_webhooks, "LIMITS", limits)
    never = threading.Event()
    site = web.site({"/": Answer(held=never)})
    (delivery_id,) = deliver(state, hook(state, site.url()))
    try:
        assert send(state) == Sent(failed=1)
    finally:
        never.set()
    assert "total timeout" in (get_delivery(state.database, delivery_id).last_error or "")


def test_a_huge_answer_is_not_read(state: State, web: Web) -> None:
    """The status says that the receiver has accepted the call."""
    site = web.site({"/": Answer(200, body=b"x" * 3_000_000)})
    (delivery_id,) = deliver(state, hook(state, site.url()))
    assert send(state) == Sent(delivered=1)
    assert get_delivery(state.database, delivery_id).last_status == 200


def test_two_processes_never_send_one_delivery(state: State, web: Web) -> None:
    site = web.site({"/": Answer(200), "/other": Answer(200)})
    wanted = deliver(state, hook(state, site.url()), 60) + deliver(state, hook(state, site.url("/other")), 60)
    with ThreadPoolExecutor(3) as pool:
        passes = [pool.submit(send, state) for _ in range(3)]
        sent = [each.result(timeout=60) for each in passes]
    assert sum(each.delivered for each in sent) == 120
    assert Counter(_header(seen, "delivery") for seen in site.log) == {str(each): 1 for each in wanted}


def test_a_call_whose_process_died_is_made_again_with_the_same_id(state: State, web: Web) -> None:
    site = web.site({"/": Answer(200)})
    (delivery_id,) = deliver(state, hook(state, site.url()))
    dying = sender(state, "127.0.0.0/8")
    (call,) = dying._claim()
    assert send(state) == Sent()
    state.clock.advance(seconds=61)
    assert send(state) == Sent(delivered=1)
    assert [_header(seen, "delivery") for seen in site.log] == [str(delivery_id)]
    # The result of the first attempt comes too late to change anything.
    late = Sent()

    async def answer_late() -> None:
        async with CurlFetcher(FetchSettings(user_agent="x"), state.clock.seconds) as fetcher:
            await dying._send(fetcher, call, late)

    asyncio.run(answer_late())
    assert late == Sent()
    assert get_delivery(state.database, delivery_id).attempts == 2


def test_a_slow_receiver_does_not_hold_up_others(state: State, web: Web) -> None:
    never = threading.Event()
    slow, quick = web.site({"/": Answer(held=never)}), web.site({"/": Answer(200)})
    deliver(state, hook(state, slow.url()), 50)
    state.clock.advance(seconds=1)
    deliver(state, hook(state, quick.url()), 4)
    claimed = sender(state, "127.0.0.0/8")._claim()
    never.set()
    assert Counter(call.url for call in claimed) == {slow.url(): 4, quick.url(): 4}


def test_sending_stops_when_asked(state: State, web: Web) -> None:
    async def run() -> None:
        stopping, arrived = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def answer(_asked: Asked) -> Answer:
            loop.call_soon_threadsafe(arrived.set)
            return Answer(200)

        site = web.site({"/": answer})
        deliver(state, hook(state, site.url()))
        serving = asyncio.create_task(sender(state, "127.0.0.0/8").serve(stopping))
        await asyncio.wait_for(arrived.wait(), 60)
        stopping.set()
        await asyncio.wait_for(serving, 60)

    asyncio.run(run())
    assert [row["status"] for row in rows(state)] == ["delivered"]


def test_a_test_is_sent_once_also_for_a_disabled_webhook(state: State, web: Web) -> None:
    site = web.site({"/": Answer(500)})
    webhook_id = hook(state, site.url(), enabled=False)
    delivery_id = add_test_delivery(state.database, state.clock, webhook_id)
    assert asyncio.run(sender(state, "127.0.0.0/8").send_one(delivery_id)) == Sent(failed=1)
    found = get_delivery(state.database, delivery_id)
    assert (found.event, found.is_test, found.status, found.attempts) == ("test", True, DeliveryStatus.FAILED, 1)
    assert get_webhook(state.database, webhook_id).consecutive_failures == 0
    assert asyncio.run(sender(state, "127.0.0.0/8").send_one(delivery_id)) == Sent()
    assert [_header(seen, "event") for seen in site.log] == ["test"]


def test_a_delivery_that_has_ended_is_sent_again_with_its_id(state: State, web: Web) -> None:
    answers = [Answer(500), Answer(200)]
    site = web.site({"/": lambda _asked: answers.pop(0)})
    (delivery_id,) = deliver(state, hook(state, site.url()), attempts=5)
    assert send(state) == Sent(failed=1)
    assert delivery_counts(state.database) == {"pending": 0, "delivered": 0, "failed": 1}
    again = send_again(state.database, state.clock, delivery_id)
    assert (again.id, again.status, again.attempts) == (delivery_id, DeliveryStatus.PENDING, 0)
    with pytest.raises(ComityError, match="has not ended"):
        send_again(state.database, state.clock, delivery_id)
    assert send(state) == Sent(delivered=1)
    assert [_header(seen, "delivery") for seen in site.log] == [str(delivery_id)] * 2
    with pytest.raises(NotFound):
        send_again(state.database, state.clock, uuid4())


def test_old_deliveries_are_forgotten(state: State) -> None:
    webhook_id = hook(state, "https://hook.example/", enabled=False)
    old = state.clock.now() - timedelta(days=31)
    deliver(state, webhook_id, 3, created_at=old)
    (kept,) = deliver(state, webhook_id)
    sending = sender(state)
    asyncio.run(sending.send_due())
    assert [row["id"] for row in rows(state)] == [kept]
    deliver(state, webhook_id, created_at=old)
    asyncio.run(sending.send_due())
    assert len(rows(state)) == 2  # looked at once an hour


def test_a_secret_is_in_nothing_that_is_shown(state: State, caplog: pytest.LogCaptureFixture, web: Web) -> None:
    site = web.site({"/": Answer(500)})
    webhook_id = hook(state, site.url())
    added, made = add_webhook(state.database, state.clock, "https://hook.example/", ["job.done"])
    assert made is not None
    assert made.startswith("whsec_")
    assert len(made) > 40
    deliver(state, webhook_id)
    call = sender(state)._claim()[0]
    shown = [repr(call), repr(added), repr(list_webhooks(state.database)), repr(rows(state)), caplog.text]
    shown.append(repr(request_of(call, call.secret, 0.0)))
    assert [text for text in shown if SECRET in text or made in text] == []


def test_a_secret_of_the_environment_is_not_in_the_state(state: State, web: Web) -> None:
    site = web.site({"/": Answer(204)})
    deliver(state, hook(state, site.url(), secret="env:WEBHOOK_SECRET_SHOP"))
    assert send(state) == Sent(delivered=1)
    (seen,) = site.log
    headers = {name.lower(): value for name, value in seen.headers.items()}
    timestamp, claimed = int(headers["x-comity-timestamp"]), headers["x-comity-signature"]
    assert is_authentic(ENVIRONMENT["WEBHOOK_SECRET_SHOP"], timestamp, seen.body, claimed, state.clock.seconds())
    with state.database.read() as connection:
        (stored,) = connection.execute(select(webhooks.c.secret)).scalars()
    assert stored == "env:WEBHOOK_SECRET_SHOP"


@pytest.mark.parametrize(
    ("variable", "problem"),
    [("WEBHOOK_SECRET_MISSING", "is not set here"), ("WEBHOOK_SECRET_SHORT", "has fewer than 16 characters")],
)
def test_nothing_is_sent_without_its_secret(state: State, web: Web, variable: str, problem: str) -> None:
    site = web.site({"/": Answer(204)})
    deliver(state, hook(state, site.url(), secret=f"env:{variable}"))
    assert send(state) == Sent(failed=1)
    assert list(site.log) == []
    (row,) = rows(state)
    assert (row["status"], row["last_status"]) == ("pending", None)
    assert row["last_error"] == f"the environment variable {variable} {problem}"


def test_no_other_variable_can_be_read(state: State) -> None:
    with pytest.raises(BadInput, match="begins with WEBHOOK_SECRET_"):
        hook(state, "https://hook.example/", secret="env:AWS_SECRET_ACCESS_KEY")


def test_a_secret_is_in_no_error_of_the_database(state: State) -> None:
    webhook_id = hook(state, "https://hook.example/")
    values = {"id": webhook_id, "url": "https://other.example/", "events": EVENTS, "secret": SECRET}
    with pytest.raises(IntegrityError) as problem, state.database.write() as connection:
        connection.execute(insert(webhooks).values(**values))
    assert SECRET not in str(problem.value)


def test_a_batch_that_is_cancelled_is_finished_if_its_receiver_answers(state: State, web: Web) -> None:
    """A run of a worker ends while calls are under way: they are noted, not made twice."""

    async def run() -> None:
        loop, arrived, answering = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def answer(_asked: Asked) -> Answer:
            loop.call_soon_threadsafe(arrived.set)
            return Answer(200, held=answering)

        site = web.site({"/": answer})
        deliver(state, hook(state, site.url()))
        sending = asyncio.create_task(sender(state, "127.0.0.0/8").send_due())
        await asyncio.wait_for(arrived.wait(), 60)
        sending.cancel()
        await asyncio.sleep(0)
        answering.set()
        with pytest.raises(asyncio.CancelledError):
            await sending

    asyncio.run(run())
    assert [(row["status"], row["attempts"]) for row in rows(state)] == [("delivered", 1)]


def test_a_call_that_is_cut_off_is_no_failure_of_its_receiver(
    state: State, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_webhooks, "_GRACE_S", 0.01)
    never = threading.Event()

    async def run() -> None:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def answer(_asked: Asked) -> Answer:
            loop.call_soon_threadsafe(arrived.set)
            return Answer(200, held=never)

        deliver(state, hook(state, web.site({"/": answer}).url()))
        sending = asyncio.create_task(sender(state, "127.0.0.0/8").send_due())
        await asyncio.wait_for(arrived.wait(), 60)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    asyncio.run(run())
    never.set()
    (found,) = rows(state)
    assert (found["status"], found["attempts"], found["last_error"]) == ("pending", 1, None)
    assert found["next_attempt_at"] == state.clock.now() + timedelta(seconds=60)
    assert list_webhooks(state.database)[0].consecutive_failures == 0


def test_webhooks_are_edited_within_bounds(state: State) -> None:
    database, clock = state.database, state.clock
    webhook_id = hook(state, "https://hook.example/a#part", "stock.back", "job.done")
    found = get_webhook(database, webhook_id)
    assert (found.url, found.events) == ("https://hook.example/a", ("job.done", "stock.back"))
    clock.advance(seconds=1)
    changed = edit_webhook(database, clock, webhook_id, url="http://other.example:8080/", note=" mine ")
    assert (changed.url, changed.note, changed.updated_at) == ("http://other.example:8080/", "mine", clock.now())
    assert renew_secret(database, clock, webhook_id)[1] != renew_secret(database, clock, webhook_id)[1]
    for bad in (
        {"url": "ftp://hook.example/"}, {"url": "hook.example"}, {"url": "https://a:b@hook.example/"},
        {"url": "http://127.0.0.1/"}, {"url": "http://localhost/"}, {"url": "http://[::1]/"}, {"url": "http://x.example:22/"},
        {"url": "https://hook.example/" + "a" * 2000}, {"events": []}, {"events": ["job.gone"]}, {"secret": "short"},
        {"secret": "x" * 201}, {"secret": "ü" * 20}, {"note": "a\nb"}, {},
    ):  # fmt: skip
        with pytest.raises(BadInput):
            edit_webhook(database, clock, webhook_id, **bad)
    assert get_webhook(database, webhook_id) == get_webhook(database, webhook_id)
    for act in (disable_webhook, enable_webhook, renew_secret):
        with pytest.raises(NotFound):
            act(database, clock, uuid4())
    with pytest.raises(NotFound):
        delete_webhook(database, uuid4())
    for number in range(MOST_WEBHOOKS - 1):
        hook(state, f"https://hook{number}.example/")
    with pytest.raises(BadInput, match="already 100 webhooks"):
        hook(state, "https://hook.example/")


def test_the_log_is_filtered_and_paged(state: State) -> None:
    one, other = hook(state, "https://one.example/"), hook(state, "https://other.example/")
    for _ in range(5):
        deliver(state, one)
        state.clock.advance(seconds=1)
    deliver(state, other, event="job.failed")
    with state.database.write() as connection:
        connection.execute(
            update(webhook_deliveries).where(webhook_deliveries.c.webhook_id == other).values(status="failed")
        )
    first = DELIVERIES.page(state.database, limit=4)
    rest = DELIVERIES.page(state.database, limit=4, cursor=first.cursor)
    assert [each.webhook_id for each in (*first.items, *rest.items)] == [other] + [one] * 5
    assert rest.cursor is None
    assert [each.event for each in DELIVERIES.page(state.database, status="failed").items] == ["job.failed"]
    assert len(DELIVERIES.page(state.database, webhook_id=one).items) == 5
    assert len(DELIVERIES.page(state.database, event="job.done").items) == 5
    with state.database.write() as connection:
        connection.execute(delete(webhooks).where(webhooks.c.id == one))
    assert len(DELIVERIES.page(state.database).items) == 1


def _header(seen: Any, name: str) -> str:
    return next(value for key, value in seen.headers.items() if key.lower() == f"x-comity-{name}")
