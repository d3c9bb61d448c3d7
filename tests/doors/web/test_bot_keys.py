"""Bots are admitted by their keys: shown once, stored as a hash, revoked at once, guessed at a bounded rate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from comity.doors.web.access import MAX_WRONG_KEYS
from comity.doors.web.console.pages import bots as bot_pages
from comity.doors.web.routes import bot_admin
from comity.model.bot import RESERVED_BOT_IDS, check_bot_id
from comity.model.errors import BadInput
from tests.doors.web.served import TOKEN_HASH, WITH_TOKEN, Served, served, until

PULL = "/api/crawl/pull/"
ENVELOPE = {"success", "error", "message", "details"}


def pull(client: httpx.Client, key: str | None, bot_id: str = "shop-1", path: str = PULL) -> httpx.Response:
    headers = {} if key is None else {"X-API-Key": key}
    return client.post(path, json={"bot_id": bot_id, "max_jobs": 1}, headers=headers)


def add(admin: httpx.Client, bot_id: str = "shop-1", **values: Any) -> str:
    answer = admin.post("/admin/bots", json={"bot_id": bot_id, **values})
    assert answer.status_code == 201, answer.text
    key: str = answer.json()["key"]
    return key


def refusal(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert set(body) == ENVELOPE, body
    assert body["success"] is False
    assert isinstance(body["details"], dict)
    return answer.status_code, body["error"]


def test_no_bot_has_the_name_of_a_path() -> None:
    """/admin/bots/new is the form for a new bot: the page of a bot with that id could not be reached."""
    routes = [*bot_pages.router.routes, *bot_admin.router.routes]
    paths = [context.path or "" for context in iter_route_contexts(routes)]
    fixed = {path.rpartition("/")[2] for path in paths if "{" not in path and path != "/admin/bots"}
    assert fixed == RESERVED_BOT_IDS
    for name in fixed:
        with pytest.raises(BadInput, match="is reserved"):
            check_bot_id(name)


def test_a_key_admits_its_own_bot_and_no_other(api: Served, admin: httpx.Client) -> None:
    key = add(admin)
    add(admin, "shop-2")
    with api.client() as client:
        assert pull(client, key).status_code == 200
        assert pull(client, key, path="/api/crawl/pull").status_code == 200
        assert refusal(pull(client, key, "shop-2")) == (403, "not_assigned")
        assert refusal(pull(client, None)) == (401, "unauthorized")
        assert refusal(pull(client, "cmty_wrong")) == (401, "unauthorized")


def test_a_key_is_shown_once_and_only_its_hash_is_stored(api: Served, admin: httpx.Client) -> None:
    key = add(admin, note="price team", max_jobs_in_hand=5)
    assert re.fullmatch(r"cmty_[\w-]{43}", key), "256 bits"
    shown = admin.get("/admin/bots/shop-1").json()
    assert key not in str(shown)
    assert (shown["max_jobs_in_hand"], shown["note"], shown["has_key"]) == (5, "price team", True)
    assert [bot["bot_id"] for bot in admin.get("/admin/bots").json()["bots"]] == ["shop-1"]
    with api.state.database.read() as connection:
        row = connection.exec_driver_sql("SELECT * FROM bots").one()
    assert key not in str(row)
    assert sha256(key.encode()).hexdigest() in str(row)


def test_a_revoked_key_stops_at_once_and_a_new_key_replaces_it(api: Served, admin: httpx.Client) -> None:
    key = add(admin)
    with api.client() as client:
        assert pull(client, key).status_code == 200
        assert admin.post("/admin/bots/shop-1/revoke").json()["status"] == "revoked"
        until(lambda: pull(client, key).status_code == 401, within_s=30)
        assert admin.post("/admin/bots/shop-1/resume").status_code == 409
        renewed = admin.post("/admin/bots/shop-1/new-key").json()
        assert renewed["status"] == "active"
        assert renewed["key"] != key
        assert pull(client, renewed["key"]).status_code == 200
        assert pull(client, key).status_code == 401
    assert admin.post("/admin/bots", json={"bot_id": "shop-1"}).status_code == 409


def test_limits_are_changed_and_removed(admin: httpx.Client) -> None:
    add(admin)
    changed = admin.patch("/admin/bots/shop-1", json={"max_jobs_in_hand": 3, "max_jobs_per_minute": 60, "note": "x"})
    assert [changed.json()[name] for name in ("max_jobs_in_hand", "max_jobs_per_minute", "note")] == [3, 60, "x"]
    removed = admin.patch("/admin/bots/shop-1", json={"max_jobs_in_hand": 0, "note": None}).json()
    assert (removed["max_jobs_in_hand"], removed["max_jobs_per_minute"], removed["note"]) == (None, 60, None)
    assert admin.patch("/admin/bots/shop-1", json={}).status_code == 422
    assert admin.patch("/admin/bots/unknown-1", json={"note": "x"}).status_code == 404


def test_bots_are_sorted_paged_and_exported(admin: httpx.Client) -> None:
    for bot_id, limit in (("a", 3), ("b", None), ("c", 1)):
        add(admin, bot_id, max_jobs_in_hand=limit)

    def ids(**query: Any) -> list[str]:
        found: list[str] = []
        for _ in range(5):
            page = admin.get("/admin/bots", params={"limit": 1, **query}).json()
            found += [bot["bot_id"] for bot in page["bots"]]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]
        raise AssertionError(found)

    assert ids() == ["a", "b", "c"]
    assert ids(sort="-bot_id") == ["c", "b", "a"]
    assert ids(sort="created_at") == ["a", "b", "c"]
    assert ids(sort="-created_at") == ["c", "b", "a"]
    assert ids(sort="-last_seen_at") == ["a", "b", "c"]
    assert admin.get("/admin/bots", params={"sort": "key_hash"}).status_code == 422
    assert admin.get("/admin/bots", params={"sort": "-bot_id", "cursor": "gone"}).status_code == 422
    exported = admin.get("/admin/bots/export", params={"format": "json", "sort": "-bot_id"})
    assert [bot["bot_id"] for bot in exported.json()] == ["c", "b", "a"]
    assert "cmty_" not in exported.text
    table = admin.get("/admin/bots/export", params={"status": "active"}).text.splitlines()
    assert table[0].startswith("bot_id,status,")
    assert [line.split(",")[0] for line in table[1:]] == ["a", "b", "c"]
    assert admin.get("/admin/bots/export", params={"status": "revoked", "format": "json"}).json() == []


@pytest.fixture
def plain(sqlite_url: str) -> Iterator[Served]:
    """A server in production on one database: what differs between databases is tested above."""
    with served(sqlite_url, env="prod", admin_token_hash=(TOKEN_HASH,)) as running:
        yield running


def test_wrong_keys_are_limited_by_address_but_known_keys_still_work(plain: Served) -> None:
    with plain.client(headers=WITH_TOKEN) as admin, plain.client() as client:
        key = add(admin)
        assert pull(client, key).status_code == 200
        codes = [pull(client, f"cmty_{number}").status_code for number in range(MAX_WRONG_KEYS)]
        assert set(codes) == {401}
        blocked = pull(client, "cmty_again")
        assert refusal(blocked) == (429, "too_many_requests")
        assert 1 <= int(blocked.headers["Retry-After"]) <= 61
        assert pull(client, key).status_code == 200, "a valid key is not locked out by its neighbours"


def test_on_this_machine_in_dev_a_bot_needs_no_key(sqlite_url: str) -> None:
    with served(sqlite_url, env="dev") as running, running.client() as client:
        assert pull(client, None, "my-bot").status_code == 200
        bot = client.get("/admin/bots/my-bot").json()
        assert (bot["has_key"], bot["status"]) == (False, "active")
        assert refusal(pull(client, "cmty_wrong", "my-bot")) == (401, "unauthorized"), "a key that is sent is checked"
        headers = {"X-Forwarded-For": "203.0.113.9"}
        assert refusal(client.post(PULL, json={"bot_id": "my-bot"}, headers=headers)) == (401, "unauthorized")
        headers = {"Origin": "https://evil.example"}
        assert refusal(client.post(PULL, json={"bot_id": "my-bot"}, headers=headers)) == (403, "csrf")
        client.post("/admin/bots/my-bot/revoke")
        assert refusal(pull(client, None, "my-bot")) == (403, "not_assigned")
        for bad in ("", "a b", "x" * 101, "-x", "ä"):
            assert refusal(pull(client, None, bad)) == (400, "validation_error")


def test_no_bot_has_the_name_of_the_own_worker(sqlite_url: str) -> None:
    with served(sqlite_url, env="dev") as running, running.client() as client:
        body = {"bot_id": "comity", "job_id": "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f", "job_ids": [], "success": True}
        for path in ("pull", "submit"):
            answer = client.post(f"/api/crawl/{path}/", json=body)
            assert (answer.status_code, answer.json()["error"]) == (403, "not_assigned")
        body["job_ids"] = [body["job_id"]]
        for path in ("heartbeat", "release"):
            assert client.post(f"/api/crawl/{path}/", json=body).json()["error"] == "not_assigned"
        assert client.post("/admin/bots", json={"bot_id": "comity"}).status_code == 422
