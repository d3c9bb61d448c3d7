"""What a page cannot use is refused with a reason, or left out; it is never an internal error, nor half a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from comity.operate.seeds import add_seeds
from comity.reports.audit.stored_audits import INFO
from comity.rules.seed_list import read_seed
from tests.doors.web.served import Served, served

BROWSER = {"Accept": "text/html"}
LONG = "x" * 400


@pytest.fixture
def dev(sqlite_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(sqlite_url, env="dev", pages=str(tmp_path / "pages"), audits=str(tmp_path / "audits")) as running:
        yield running


@pytest.mark.parametrize("path", ["/admin/crawl/runs", "/admin/crawl/logs"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_place_in_a_list_outside_the_calendar_is_the_first_page(dev: Served, path: str, moment: str) -> None:
    with dev.client() as client:
        cursor = f"{moment}_{uuid4().hex}"
        assert client.get(path, params={"after": cursor}, headers=BROWSER).status_code == 200
        refused = client.get("/admin/crawl/runs", params={"cursor": cursor})
        assert (refused.status_code, refused.json()["error"]) == (422, "bad_input")


def test_a_field_that_cannot_be_used_is_refused_with_a_reason(dev: Served) -> None:
    add_seeds(dev.state.database, dev.state.clock, [read_seed("shop.example")])
    with dev.client(headers=BROWSER) as client:
        page = client.get("/admin/hosts/shop.example/reset").text
        token = re.search(r'name="csrf_token" value="(\w+)"', page)
        assert token is not None
        form = {"csrf_token": token[1], "reason": LONG}
        refused = client.post("/admin/hosts/shop.example/reset", data=form)
    assert refused.status_code == 422
    assert "Reason: " in refused.text


@pytest.mark.parametrize("part", ["requests", "urls", "evidence", "fetches", "moves"])
def test_the_csv_of_an_unknown_host_is_an_error_and_not_half_a_file(dev: Served, part: str) -> None:
    with dev.client(headers=BROWSER) as client:
        answer = client.get(f"/admin/hosts/unknown.example/{part}?format=csv")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


def test_audits_are_compared_by_name_and_never_by_a_path(dev: Served, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / INFO).write_text(json.dumps({"audit_id": "secret"}))
    steps = "x/" + "../" * 20 + str(elsewhere).lstrip("/")
    with dev.client() as client:
        for name in (LONG, "é" * 200, str(elsewhere), steps, "../elsewhere", "~", "a\0b"):
            for accept in ("text/html", "application/json"):
                answer = client.get(
                    "/admin/audits/compare", params={"before": name, "after": name}, headers={"Accept": accept}
                )
                assert answer.status_code in (404, 422), (name, answer.status_code)
